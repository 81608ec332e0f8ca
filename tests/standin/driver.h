/**
 * What CUDA's and HIP's calls have in common, on the virtual node: cuda.c and hip.c only have the
 * names. Every call takes its time on the virtual clock, counts for the planned faults by its own
 * exported name, and gives a code that both runtimes share. Calls may be made by any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codes.h"
#include "memory.h"
#include "model.h"

/* The device that is current for the calling thread, by cuda.c or hip.c. */
struct driver_call {
    const char *name;
    int device; /* -1 none */
};

const struct model *driver_model(void);
enum code driver_init(struct driver_call call);
enum code driver_count(struct driver_call call, int *ret_count);
/* Facts of a device: ret_device is borrowed. */
enum code driver_device(struct driver_call call, int device,
                        const struct model_device **ret_device);
enum code driver_open(struct driver_call call);
/* with everything in its memory when it was the last */
enum code driver_close(struct driver_call call);
/* whether somebody has it open */
enum code driver_is_open(struct driver_call call, int *ret_is_open);
enum code driver_enter(struct driver_call call);
enum code driver_can_access(struct driver_call call, int peer, int *ret_can);
enum code driver_access_peer(struct driver_call call, int peer);

enum code driver_alloc(struct driver_call call, size_t bytes, uint64_t *ret_address);
enum code driver_free(struct driver_call call, uint64_t address);
enum code driver_space(struct driver_call call, size_t *ret_free, size_t *ret_total);
enum code driver_host_alloc(struct driver_call call, size_t bytes, enum model_kind kind,
                            void **ret_memory);
enum code driver_managed_alloc(struct driver_call call, size_t bytes, uint64_t *ret_address);
enum code driver_register(struct driver_call call, void *memory, size_t bytes,
                          enum model_kind kind);
enum code driver_unregister(struct driver_call call, void *memory);
enum code driver_host_address(struct driver_call call, void *memory, uint64_t *ret_address);
/* Whose an address is: of a block of memory that the runtime knows. device: its own, -1 of the
 * host's. */
enum code driver_pointer(struct driver_call call, uint64_t address, enum memory_owner *ret_owner,
                         int *ret_device);
enum code driver_advise(struct driver_call call, uint64_t address, size_t bytes, int advice,
                        int device);
enum code driver_prefetch(struct driver_call call, uint64_t address, size_t bytes, int device,
                          void *stream);

enum code driver_stream_new(struct driver_call call, void **ret_stream);
enum code driver_stream_free(struct driver_call call, void *stream);
enum code driver_stream_wait(struct driver_call call, void *stream);
enum code driver_stream_query(struct driver_call call, void *stream);
enum code driver_stream_device(struct driver_call call, void *stream, int *ret_device);
enum code driver_stream_after(struct driver_call call, void *stream, void *event);
enum code driver_device_wait(struct driver_call call);
enum code driver_event_new(struct driver_call call, bool is_timed, void **ret_event);
enum code driver_event_free(struct driver_call call, void *event);
enum code driver_event_record(struct driver_call call, void *event, void *stream);
enum code driver_event_query(struct driver_call call, void *event);
enum code driver_event_wait(struct driver_call call, void *event);
enum code driver_event_elapsed(struct driver_call call, void *from, void *to, float *ret_ms);

/* NULL is the default stream of the current device. wait: the call ends when the copy has. */
enum code driver_copy(struct driver_call call, uint64_t to, uint64_t from, size_t bytes,
                      void *stream, bool wait);
enum code driver_fill(struct driver_call call, uint64_t to, uint8_t byte, size_t bytes,
                      void *stream);

enum code driver_module_load(struct driver_call call, const void *image, void **ret_module);
enum code driver_module_unload(struct driver_call call, void *module);
enum code driver_function(struct driver_call call, void *module, const char *name,
                          void **ret_function);
enum code driver_function_threads(struct driver_call call, const void *function, int attribute,
                                  int *ret_value);
enum code driver_launch(struct driver_call call, void *function, const unsigned grid[3],
                        const unsigned block[3], void *stream, void **arguments, void **extra);

const char *driver_text(int code);
