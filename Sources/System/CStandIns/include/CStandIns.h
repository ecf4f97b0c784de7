/* Nothing to call: linking this target is its use. */
#ifndef CSTANDINS_H
#define CSTANDINS_H
#endif
