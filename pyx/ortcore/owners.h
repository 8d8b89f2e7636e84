/* Python objects that own memory lent to the C library.
 *
 * The library drops its last reference to such memory on whatever thread it likes, with or without the interpreter's lock. So a release only
 * puts the object on a list; whoever holds the lock next drops what is on it: the call that caused the release when it returns (it said so with
 * owners_enter), otherwise the interpreter's main thread, asked by a pending call. Once the interpreter is gone the objects stay where they are. */
#ifndef ORTCORE_PYTHON_OWNERS_H
#define ORTCORE_PYTHON_OWNERS_H

#include <Python.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct owner {
  PyObject *object;
  struct owner *next;
} owner;

static _Atomic(owner *) owners_released;
static _Thread_local int owners_depth;       /* calls of this thread that will empty the list */

static int owners_drain(void *unused) {
  (void)unused;
  owner *o = atomic_exchange(&owners_released, NULL);
  while (o) {
    owner *next = o->next;
    Py_DECREF(o->object);
    free(o);
    o = next;
  }
  return 0;
}

static void owners_enter_(void) { ++owners_depth; }

static void owners_leave_(void) {
  if (!--owners_depth && atomic_load_explicit(&owners_released, memory_order_relaxed)) owners_drain(NULL);
}

static void *owner_create(PyObject *object) {
  owner *o = malloc(sizeof *o);
  if (!o) return NULL;
  Py_INCREF(object);
  o->object = object;
  return o;
}

static void owner_release_(void *user) {
  owner *o = user;
  o->next = atomic_load_explicit(&owners_released, memory_order_relaxed);
  while (!atomic_compare_exchange_weak(&owners_released, &o->next, o)) {}
  if (!owners_depth && Py_IsInitialized()) Py_AddPendingCall(owners_drain, NULL);
}

#endif
