// SPDX-License-Identifier: MIT OR Apache-2.0
// A driver without a GPU, whose memory is the process's own: allocations, copies and contexts, counted, and no kernels.
// `test_fake_gpu.py` builds it as libcuda.so.1.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned int Status;
enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NOT_SUPPORTED = 801 };

static int allocated, retained, pushed;

int fake_allocated(void) { return allocated; }
int fake_retained(void) { return retained; }
int fake_pushed(void) { return pushed; }

Status cuInit(unsigned flags) { (void)flags; return OK; }
Status cuDriverGetVersion(int *version) { *version = 13000; return OK; }
Status cuDeviceGetCount(int *count) { *count = 1; return OK; }
Status cuDeviceGet(int *device, int number) { *device = number; return number == 0 ? OK : INVALID; }
Status cuDeviceGetName(char *name, int bytes, int device) { (void)device; strncpy(name, "fake", bytes); return OK; }
Status cuDeviceGetAttribute(int *value, int what, int device) { (void)what; (void)device; *value = 9; return OK; }
Status cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = 1 << 30; return OK; }
Status cuGetErrorString(Status status, const char **text) { (void)status; *text = "the fake refuses"; return OK; }

Status cuDevicePrimaryCtxRetain(void **context, int device) { (void)device; retained++; *context = &retained; return OK; }
Status cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return retained-- > 0 ? OK : INVALID; }
Status cuCtxPushCurrent_v2(void *context) { pushed++; return context == &retained ? OK : INVALID; }
Status cuCtxPopCurrent_v2(void **context) { *context = &retained; return pushed-- > 0 ? OK : INVALID; }
Status cuCtxSetCurrent(void *context) { (void)context; return OK; }
Status cuCtxSynchronize(void) { return pushed > 0 ? OK : INVALID; }

Status cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    if (bytes > 1 << 30) return OUT_OF_MEMORY;
    *address = (uint64_t)malloc(bytes);
    allocated++;
    return pushed > 0 ? OK : INVALID;
}
Status cuMemFree_v2(uint64_t address) { free((void *)address); allocated--; return pushed > 0 ? OK : INVALID; }
Status cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) { memcpy((void *)to, from, bytes); return OK; }
Status cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) { memcpy(to, (void *)from, bytes); return OK; }
Status cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) { memcpy((void *)to, (void *)from, bytes); return OK; }
Status cuMemsetD8_v2(uint64_t to, unsigned char byte, size_t count) { memset((void *)to, byte, count); return OK; }

// `CUDA_MEMCPY2D`; a memory type of 1 is the host's, of 2 the device's.
typedef struct {
    size_t x, y;
    int kind;
    const void *host;
    uint64_t device;
    void *array;
    size_t pitch;
} End;
typedef struct {
    End from, to;
    size_t width, height;
} Copy;

Status cuMemcpy2DUnaligned_v2(const Copy *copy) {
    if (copy->from.pitch < copy->width || copy->to.pitch < copy->width) return INVALID;
    const char *from = copy->from.kind == 1 ? copy->from.host : (const char *)copy->from.device;
    char *to = (char *)(copy->to.kind == 1 ? copy->to.host : (const void *)copy->to.device);
    for (size_t row = 0; row < copy->height; row++)
        memcpy(to + row * copy->to.pitch, from + row * copy->from.pitch, copy->width);
    return OK;
}

Status cuModuleLoadDataEx(void) { return NOT_SUPPORTED; }
Status cuModuleUnload(void) { return NOT_SUPPORTED; }
Status cuModuleGetFunction(void) { return NOT_SUPPORTED; }
Status cuFuncSetAttribute(void) { return NOT_SUPPORTED; }
Status cuLaunchKernel(void) { return NOT_SUPPORTED; }
Status cuEventCreate(void) { return NOT_SUPPORTED; }
Status cuEventDestroy_v2(void) { return NOT_SUPPORTED; }
Status cuEventRecord(void) { return NOT_SUPPORTED; }
Status cuEventSynchronize(void) { return NOT_SUPPORTED; }
Status cuEventElapsedTime(void) { return NOT_SUPPORTED; }
