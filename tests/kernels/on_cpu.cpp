/*
 * Runs the kernels on the CPU, as the branch for AMD's compilers. Where a block's threads share
 * memory each is a thread of the CPU, one block after the other, so that the sanitizers see what
 * they do to memory and to each other.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#define __HIPCC_RTC__ 1
#define __global__
#define __device__
#define __shared__ static /* blocks that use it run one after the other */
#define __launch_bounds__(threads)
#define __HIP_MEMORY_SCOPE_SYSTEM                      0
#define __hip_atomic_load(place, order, scope)         __atomic_load_n(place, order)
#define __hip_atomic_store(place, value, order, scope) __atomic_store_n(place, value, order)

struct place_of_thread {
    unsigned x;
};
static thread_local place_of_thread threadIdx, blockIdx, blockDim, gridDim;
static thread_local pthread_barrier_t *barrier; /* of the block's threads */

static long long wall_clock64()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 100000000LL + t.tv_nsec / 10;
}
static long long clock64()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void __threadfence_system() {}
static void __syncthreads()
{
    if (barrier == nullptr)
        abort();
    pthread_barrier_wait(barrier);
}
static void atomicAdd(unsigned long long *place, unsigned long long value)
{
    __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
}
static void atomicMin(unsigned long long *place, unsigned long long value)
{
    unsigned long long old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (value < old && !__atomic_compare_exchange_n(place, &old, value, false, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
    }
}

#include "gpu/driver/gpu_kernels.cu"

#include <functional>
#include <vector>

static std::vector<pthread_t> launches[2];
/* to the end; their bytes stay where they are when this grows */
static std::vector<std::vector<char>> kept;

static void *memory(size_t bytes)
{
    kept.emplace_back(bytes);
    return kept.back().data();
}

static void *run(void *arg)
{
    std::function<void()> *body = (std::function<void()> *)arg;
    (*body)();
    delete body;
    return nullptr;
}

static pthread_t spawn(std::function<void()> body)
{
    pthread_t thread;
    if (pthread_create(&thread, nullptr, run, new std::function<void()>(body)) != 0)
        abort();
    return thread;
}

static void join_all(std::vector<pthread_t> &threads)
{
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
    threads.clear();
}

template <class Args>
static void run_block(void (*kernel)(Args), unsigned grid, unsigned block, unsigned number,
                      Args args)
{
    /* no kernel that takes other blocks has its threads wait for each other */
    if (block != GPU_BS_BLOCK) {
        threadIdx.x = 0, blockIdx.x = number, blockDim.x = block, gridDim.x = grid,
        barrier = nullptr;
        for (; threadIdx.x < block; threadIdx.x++)
            kernel(args);
        return;
    }
    pthread_barrier_t all;
    pthread_barrier_init(&all, nullptr, block);
    std::vector<pthread_t> threads;
    for (unsigned i = 0; i < block; i++)
        threads.push_back(spawn([=, &all] {
            threadIdx.x = i, blockIdx.x = number, blockDim.x = block, gridDim.x = grid,
            barrier = &all;
            kernel(args);
        }));
    join_all(threads);
    pthread_barrier_destroy(&all);
}

template <class Args>
static void start(int stream, void (*kernel)(Args), unsigned grid, unsigned block, Args args)
{
    join_all(launches[stream]); /* of one stream one after the other */
    launches[stream].push_back(spawn([=] {
        for (unsigned i = 0; i < grid; i++)
            run_block(kernel, grid, block, i, args);
    }));
}

static void finish()
{
    for (auto &stream : launches)
        join_all(stream);
}

#include "checks.h"
