#ifndef SLUICE_INTERCHANGE_H
#define SLUICE_INTERCHANGE_H

#include <stdint.h>

/* The runtime's arrays as C functions, for languages that load libraries at run time (Python does: sluice_arrays.py).
 *
 * Functions that can fail return 0 on success, or a pointer that is null on failure; sluice_interchange_error() has the
 * reason. They may be called from any thread, but an array only from one thread at a time. All work runs on the default
 * stream of the first CUDA device, or of the simulated device if there is no CUDA device. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_array sluice_array;

/* Element kinds. The values are DLPack's type codes. */
enum { SLUICE_INT = 0, SLUICE_UINT = 1, SLUICE_FLOAT = 2, SLUICE_BFLOAT = 4, SLUICE_COMPLEX = 5, SLUICE_BOOL = 6 };

/* Description of an array. The pointers belong to the array and are valid as long as it lives. */
typedef struct {
  void* data;   /* null if the array is empty */
  int32_t code; /* SLUICE_INT .. SLUICE_BOOL */
  int32_t bits; /* size of an element */
  int32_t rank;
  int32_t read_only;
  const int64_t* extents; /* `rank` values */
  const int64_t* strides; /* `rank` values, in elements */
  int32_t device_type;    /* DLPack's number: 2 CUDA, 3 pinned, 13 managed */
  int32_t device;         /* device ordinal */
} sluice_array_info;

/* Error message of the calling thread's last call; empty if it succeeded. Valid until the thread's next call. */
const char* sluice_interchange_error(void);

/* Allocates an uninitialized array. */
sluice_array* sluice_array_empty(const int64_t* extents, int32_t rank, int32_t code, int32_t bits, int32_t fortran);
/* Releases the array. Null is allowed. */
void sluice_array_release(sluice_array* array);
int sluice_array_describe(const sluice_array* array, sluice_array_info* out);

/* Takes ownership of a DLManagedTensor (if versioned != 0: a DLManagedTensorVersioned). Its deleter runs once, when
 * the last array that shares its memory is released. On failure, the caller keeps the tensor. */
sluice_array* sluice_array_from_dlpack(void* managed, int32_t versioned);
/* Exports a tensor for another library, which must call its deleter once. */
void* sluice_array_to_dlpack(const sluice_array* array, int32_t versioned);
/* A destructor for PyCapsules "dltensor" and "dltensor_versioned": calls the tensor's deleter if no consumer has taken
 * the tensor. Looks up Python's functions in the process. */
void sluice_dlpack_capsule_destructor(void* capsule);

/* Imports an array from the fields of a __cuda_array_interface__. `strides` are in bytes; null: dense. If `has_stream`,
 * the default stream waits for `stream` (numbers as in the interface). The exporting object must outlive the array and
 * all tensors made from it: `release(source)` is called once, on any thread, when the last of them is destroyed, or at
 * once on failure. If `release` is null, the caller must keep the object alive. */
sluice_array* sluice_array_from_cai(uintptr_t data, const int64_t* extents, const int64_t* strides, int32_t rank,
                                    const char* typestr, int32_t read_only, int32_t masked, int32_t has_stream,
                                    int64_t stream, int32_t version, void (*release)(void*), void* source);
/* A `release` for Python objects: takes the GIL and drops one reference. Looks up Python's functions in the process. */
void sluice_python_release(void* object);

/* Makes later work on `stream` wait for all work that this library has enqueued. `stream` is 1 (the legacy default
 * stream), 2 (the calling thread's default stream) or a cudaStream_t. */
int sluice_array_order(const sluice_array* array, int64_t stream);

/* Enqueues x -> multiplier * x + increment (mod 2^32) for each element. The array must be contiguous and contain 32-bit
 * integers. Useful to show that an array shares another library's memory. */
int sluice_array_affine(sluice_array* array, uint32_t multiplier, uint32_t increment);
/* Waits for all work on the device. */
int sluice_interchange_synchronize(void);

#ifdef __cplusplus
}
#endif

#endif
