/* Nothing to call: linking this target is its use. */
#ifndef CDISPATCHSTUB_H
#define CDISPATCHSTUB_H
#endif
