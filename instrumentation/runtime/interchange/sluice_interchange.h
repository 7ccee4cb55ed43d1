#ifndef SLUICE_INTERCHANGE_H
#define SLUICE_INTERCHANGE_H

#include <stdint.h>

/* The runtime's arrays as C functions, for languages that load libraries at run time (sluice_arrays.py for Python's ctypes).
 *
 * Functions that can fail return 0 for success, or null for a pointer; sluice_interchange_error() then says why. They may be
 * called from any thread; one array is used from one thread at a time. Work runs on the default stream of the device that
 * CUDA's first device is, or of the simulated one where there is none. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_array sluice_array;

/* What an element is; the numbers of DLPack's type codes. */
enum { SLUICE_INT = 0, SLUICE_UINT = 1, SLUICE_FLOAT = 2, SLUICE_BFLOAT = 4, SLUICE_COMPLEX = 5, SLUICE_BOOL = 6 };

/* An array as it is. The pointers are the array's own and live as long as it does. */
typedef struct {
  void* data;   /* null for an array without elements */
  int32_t code; /* SLUICE_INT.. */
  int32_t bits; /* of an element */
  int32_t rank;
  int32_t read_only;
  const int64_t* extents; /* `rank` of them */
  const int64_t* strides; /* in elements */
  int32_t device_type;    /* DLPack's: 2 CUDA, 3 pinned, 13 managed */
  int32_t device;         /* its ordinal */
} sluice_array_info;

/* One line about the calling thread's last call, if that failed; empty if it did not. Valid until its next call. */
const char* sluice_interchange_error(void);

/* A fresh array; contents are undefined. */
sluice_array* sluice_array_empty(const int64_t* extents, int32_t rank, int32_t code, int32_t bits, int32_t fortran);
/* Lets go of it. Null is fine. */
void sluice_array_release(sluice_array* array);
int sluice_array_describe(const sluice_array* array, sluice_array_info* out);

/* Takes a DLManagedTensor (versioned != 0: a DLManagedTensorVersioned) over; its deleter runs once, when the last array that
 * shares its memory is let go of. On failure it stays the caller's. */
sluice_array* sluice_array_from_dlpack(void* managed, int32_t versioned);
/* For another library, which must call its deleter once. */
void* sluice_array_to_dlpack(const sluice_array* array, int32_t versioned);
/* A destructor for the PyCapsules of such tensors, "dltensor" and "dltensor_versioned": calls the deleter of those that nobody
 * has taken. It finds Python's functions in the process. */
void sluice_dlpack_capsule_destructor(void* capsule);

/* An array over what a __cuda_array_interface__ describes. `strides` are in bytes, null for dense ones. Where `has_stream`, the
 * default stream waits for `stream`, in the interface's numbers. The exporting object must stay as long as the array, and every tensor
 * made of it: `release(source)` is called once, on any thread, when the last of them goes, or at once on failure. Null: the
 * caller sees to it. */
sluice_array* sluice_array_from_cai(uintptr_t data, const int64_t* extents, const int64_t* strides, int32_t rank,
                                    const char* typestr, int32_t read_only, int32_t masked, int32_t has_stream,
                                    int64_t stream, int32_t version, void (*release)(void*), void* source);
/* A `release` for objects of Python: gives up one reference, with the GIL, which it takes. It finds Python's functions in the process. */
void sluice_python_release(void* object);

/* Work enqueued on `stream` (1: the legacy default stream, 2: the thread's, else a cudaStream_t) from now on waits for what was
 * done to arrays here. */
int sluice_array_order(const sluice_array* array, int64_t stream);

/* x -> multiplier * x + increment (mod 2^32) for each element, of 32-bit integers without gaps; enqueued. Shows that an array
 * is the other library's own memory. */
int sluice_array_affine(sluice_array* array, uint32_t multiplier, uint32_t increment);
/* Waits for everything. */
int sluice_interchange_synchronize(void);

#ifdef __cplusplus
}
#endif

#endif
