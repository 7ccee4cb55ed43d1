#pragma once

#include <cstdint>

#include "instrumentation/ring/record_types.hpp"

/// This header defines the records that define keys (of texts, frames, stacks, devices) or describe the process.
/// `records.hpp` includes this header and describes the record format.
namespace sluice::ring {

/// Defines string `key`; `length` bytes of UTF-8 follow, padded with zeros to a multiple of 8.
struct string_record {
  record_header header;
  std::uint64_t key;
  std::uint64_t length;
};

/// The first record of a ring's new owner. All later records of the ring belong to this thread.
struct thread_record {
  record_header header;
  std::uint64_t tid;
  char name[16];
};

struct device_record {
  record_header header;
  std::uint32_t device;  ///< The key: the driver's device ordinal in this process.
  std::uint32_t kind;    ///< trace::device_kind
  std::uint64_t uuid_high, uuid_low;
  std::uint64_t name;  ///< String key.
  std::uint64_t memory_bytes;
  std::uint64_t link_peak;  ///< Bytes/s in one direction; 0: unknown.
  std::uint32_t link_generation, link_width;
  std::uint32_t compute_major, compute_minor;
  std::uint64_t attainable_h2d, attainable_d2h;  ///< Bytes/s; 0: not measured.
  std::uint64_t peer_peak;                       ///< Bytes/s in one direction over NVLink; 0: no NVLink, or unknown.
};

struct context_record {
  record_header header;
  std::uint32_t context;
  std::uint32_t device;
  std::uint64_t handle;
};

struct stream_record {
  record_header header;
  std::uint64_t stream;  ///< `stream_key`.
  std::uint64_t handle;
  std::int64_t priority;
  std::uint64_t name;  ///< String key; 0: no name.
};

struct pool_record {
  record_header header;
  std::uint64_t pool;  ///< The key: the driver's handle, or a number that the runtime assigned.
  std::uint32_t device;
  std::uint8_t layer;  ///< trace::layer
  std::uint8_t kind;   ///< trace::memory_kind
  std::uint16_t reserved;
  std::uint64_t name;
};

struct counter_record {
  record_header header;
  std::uint64_t counter;
  std::uint64_t name;
  std::uint32_t unit;    ///< trace::counter_unit
  std::uint32_t device;  ///< `no_device`: independent of devices.
};
inline constexpr std::uint32_t no_device = ~std::uint32_t{0};

/// One stack frame in one word: a program counter of native code (below 2^47; the
/// writer finds its module), or the key of a `frame_record`, which has the top bit set.
inline constexpr std::uint64_t frame_key_bit = std::uint64_t{1} << 63;

/// Defines a frame of an interpreted language. The process sends this record before the first stack that contains the
/// frame.
struct frame_record {
  record_header header;
  std::uint64_t key;             ///< With `frame_key_bit` set.
  std::uint64_t function, file;  ///< String keys.
  std::uint32_t line;
  std::uint32_t kind;  ///< trace::frame_kind
};

/// Defines stack `key`. `count` words follow, one for each frame, innermost first. If another thread requested this
/// thread's work, the stack continues with the frames of stack `base`, the stack of that other thread.
struct stack_record {
  record_header header;
  std::uint64_t key;
  std::uint64_t count;
  std::uint64_t base;  ///< Stack key; 0: the stack ends here.
};

/// A code file that the process has loaded, now or earlier. It replaces earlier modules at overlapping addresses.
struct module_record {
  record_header header;
  std::uint64_t path;        ///< String key.
  std::uint64_t base;        ///< The load bias.
  std::uint64_t begin, end;  ///< Mapped address range.
  std::uint8_t build_id[32];
  std::uint64_t build_id_bytes;
};

/// The program has named a thread: the calling thread or another.
struct thread_name_record {
  record_header header;
  std::uint64_t tid;
  std::uint64_t name;
};

/// The threads of this process that belong to the recorder (see recorder_threads.hpp). `count` tids follow. The list is
/// complete. The list with the highest version counts, because lists may arrive through the rings of several threads.
struct recorder_threads_record {
  record_header header;
  std::uint64_t version;  ///< Increases with each change of the list.
  std::uint64_t count;    ///< At most `max_recorder_threads`.
};
inline constexpr std::uint32_t max_recorder_threads = 64;

/// The recording mode of this process.
struct mode_record {
  record_header header;
  std::uint64_t mode;  ///< trace::recording_mode
};

}  // namespace sluice::ring
