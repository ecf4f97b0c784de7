#ifndef KASSA_H
#define KASSA_H
#endif
