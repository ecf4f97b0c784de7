/* see include/ */
