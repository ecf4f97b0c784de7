/* What Swift's concurrency library wants from Dispatch, so that the linker leaves the real one out of libkassa. Nothing
   here is for calling: tasks run on the library's own loop. It would be reached by `Task.sleep`, by a task without the
   loop as its executor, or by the main actor. In programs that need Dispatch, such as tests, it must not be linked. */
#ifndef CDISPATCHSTUB_H
#define CDISPATCHSTUB_H

/* This header declares nothing: Swift's own headers declare the functions. */

#endif
