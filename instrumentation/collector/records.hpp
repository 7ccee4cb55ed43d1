#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "instrumentation/collector/record_types.hpp"

/// What a recorded process says to the writer: plain records in a ring of shared memory. The reader of a ring trusts
/// nothing: it checks every length. A record is a multiple of 8 bytes and begins with `record_header`.
///
///   0        2        4                8                16
///   | type   | words  | flags          | time           | payload ...                  |
///
/// Joining (call with activity, alloc with free), ids and every look-up happen in the writer, never here.
/// Keys below are the process's own: a device is an index from `device_record`, a context is CUPTI's context id, a
/// stream is `stream_key(context, CUPTI stream id)`, a string is the 64-bit hash that a `string_record` introduced.
/// This header is read by the capture library too: no C++ library, no exceptions.
namespace sluice::collector {

/// Which clock a ring's times are on. A simulated process has no other clock.
enum class clock_kind : std::uint32_t { tsc = 0, monotonic_ns = 1, simulated_ns = 2 };

[[nodiscard]] constexpr std::uint64_t stream_key(std::uint32_t context, std::uint32_t stream) {
  return (std::uint64_t{context} << 32) | stream;
}

/// Introduces `key`; `length` bytes of UTF-8 follow, padded with zeros to a multiple of 8.
struct string_record {
  record_header header;
  std::uint64_t key;
  std::uint64_t length;
};

/// The first record of a ring's new owner: records after it are this thread's.
struct thread_record {
  record_header header;
  std::uint64_t tid;
  char name[16];
};

struct device_record {
  record_header header;
  std::uint32_t device;  ///< The key: the driver's ordinal in this process.
  std::uint32_t kind;    ///< trace::device_kind
  std::uint64_t uuid_high, uuid_low;
  std::uint64_t name;  ///< String key.
  std::uint64_t memory_bytes;
  std::uint64_t link_peak;  ///< Bytes/s one way; 0: not known.
  std::uint32_t link_generation, link_width;
  std::uint32_t compute_major, compute_minor;
  std::uint64_t attainable_h2d, attainable_d2h;  ///< Bytes/s; 0: never measured.
  std::uint64_t peer_peak;                       ///< Bytes/s one way over NVLink; 0: there is none, or it is not known.
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
  std::uint64_t name;  ///< String key, 0: none.
};

struct pool_record {
  record_header header;
  std::uint64_t pool;  ///< The key: the driver's handle or the pool object's address.
  std::uint32_t device;
  std::uint8_t level;  ///< trace::layer
  std::uint8_t kind;   ///< trace::memory_kind
  std::uint16_t reserved;
  std::uint64_t name;
};

struct counter_record {
  record_header header;
  std::uint64_t counter;
  std::uint64_t name;
  std::uint32_t unit;    ///< trace::counter_unit
  std::uint32_t device;  ///< `no_device` when it is of none.
};
inline constexpr std::uint32_t no_device = ~std::uint32_t{0};

/// One frame of a stack, in a word: a program counter of native code (below 2^47; the writer finds its module), or the key
/// of a `frame_record`, which has the top bit.
inline constexpr std::uint64_t frame_key_bit = std::uint64_t{1} << 63;

/// Introduces the frame of an interpreted language. Sent before the first stack that names it.
struct frame_record {
  record_header header;
  std::uint64_t key;             ///< With `frame_key_bit`.
  std::uint64_t function, file;  ///< String keys.
  std::uint32_t line;
  std::uint32_t kind;  ///< trace::frame_kind
};

/// Introduces `key`: `count` words of frames follow, innermost first. Beyond the last of them the stack goes on as the stack
/// `base` does: who asked another thread for what this one does.
struct stack_record {
  record_header header;
  std::uint64_t key;
  std::uint64_t count;
  std::uint64_t base;  ///< Stack key, 0: it ends there.
};

/// A file of code was loaded, or found loaded. A later one replaces those whose addresses it covers.
struct module_record {
  record_header header;
  std::uint64_t path;        ///< String key.
  std::uint64_t base;        ///< The load bias.
  std::uint64_t begin, end;  ///< Mapped addresses.
  std::uint8_t build_id[32];
  std::uint64_t build_id_bytes;
};

/// `header.time` is the exit edge of the call.
struct alloc_record {
  record_header header;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t reserved_bytes;
  std::uint64_t call_begin;  ///< Entry edge, same clock; 0: not known.
  std::uint64_t pool;        ///< Pool key, 0: none.
  std::uint64_t stream;      ///< `stream_key`, 0: none.
  std::uint64_t name;        ///< String key of the call or the tag.
  std::uint64_t parent;      ///< Address of the segment of the layer below, 0: the writer looks it up.
  std::uint64_t owner;  ///< Of a mapping, the handle of its physical memory; of a graph's memory, the graph's; else 0.
  std::uint64_t stack;  ///< Stack key, 0: none.
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t correlation;
  std::uint8_t level;  ///< trace::layer
  std::uint8_t kind;   ///< trace::memory_kind
  std::uint16_t reserved;
};

/// `header.time` is the entry edge of the call.
struct free_record {
  record_header header;
  std::uint64_t address;
  std::uint64_t bytes;  ///< Of an unmapping: all mappings in the range end; else 0.
  std::uint64_t stream;
  std::uint32_t correlation;
  std::uint8_t level;
  std::uint8_t kind;
  std::uint16_t reserved;
};

/// What was allocated in a context is gone with it.
struct context_end_record {
  record_header header;
  std::uint32_t context;
  std::uint32_t reserved;
};

/// A graph, or an executable one, has been destroyed.
struct graph_end_record {
  record_header header;
  std::uint64_t graph;
};

/// The free of `address` that was requested last has been completed (exit of a synchronous free, or the stream got
/// there).
struct free_completed_record {
  record_header header;
  std::uint64_t address;
  std::uint32_t correlation;
  std::uint8_t level;
  std::uint8_t reserved[3];
};

struct alloc_failed_record {
  record_header header;
  std::uint64_t bytes;
  std::uint64_t pool;
  std::uint64_t stream;
  std::uint64_t name;
  std::uint64_t stack;
  std::int64_t status;
  std::uint32_t device;
  std::uint8_t level;
  std::uint8_t kind;
  std::uint16_t reserved;
};

struct pool_state_record {
  record_header header;
  std::uint64_t pool;
  std::uint64_t reserved_bytes;
  std::uint64_t used_bytes;
  std::uint64_t operation;  ///< trace::pool_operation
  std::uint64_t threshold;  ///< Bytes it keeps when nobody uses them.
};

struct device_memory_record {
  record_header header;
  std::uint64_t free_bytes;
  std::uint64_t total_bytes;
  std::uint64_t recorder_bytes;
  std::uint32_t device;
  std::uint32_t reserved;
};

/// One call into the driver, written at its exit; `header.time` is its entry. For a copy it carries the addresses,
/// which the activity record lacks.
struct api_call_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t name;
  std::uint64_t source;
  std::uint64_t destination;
  std::uint64_t bytes;
  std::uint64_t stream;
  std::uint64_t stack;
  std::int64_t status;
  std::uint32_t correlation;
  std::uint32_t context;
};

/// What a call's copy is about to move from the host, written at the call's entry: before the call's own record.
struct content_record {
  record_header header;
  std::uint64_t hash;
  std::uint64_t bytes;  ///< Hashed, of those that the copy moves.
  std::uint32_t correlation;
  std::uint8_t check;  ///< trace::content_check
  std::uint8_t reserved[3];
};

/// A copy as the device did it; `header.time` is its start. `end` 0: not known.
struct copy_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t bytes;
  std::uint64_t stream;
  std::uint64_t source;  ///< Addresses, 0 when only the call knows them.
  std::uint64_t destination;
  std::uint64_t graph_node;
  std::uint32_t device;
  std::uint32_t peer;  ///< `no_device` unless a peer copy.
  std::uint32_t correlation;
  std::uint8_t direction;         ///< trace::direction
  std::uint8_t source_kind;       ///< trace::memory_kind
  std::uint8_t destination_kind;  ///< trace::memory_kind
  std::uint8_t reserved;
  std::uint32_t channel;  ///< The hardware channel, counted from 1; 0: not known.
  std::uint32_t copies;   ///< Of a batch: how many copies this one record stands for.
};

struct memset_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t bytes;
  std::uint64_t stream;
  std::uint64_t address;
  std::uint64_t graph_node;
  std::uint32_t value;
  std::uint32_t device;
  std::uint32_t correlation;
  std::uint8_t kind;
  std::uint8_t reserved[3];
};

struct kernel_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t name;
  std::uint64_t stream;
  std::uint64_t graph_node;
  std::uint32_t device;
  std::uint32_t correlation;
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t registers;
  std::uint32_t static_shared;
  std::uint32_t dynamic_shared;
  std::uint32_t reserved;
};

struct migration_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t bytes;
  std::uint64_t address;
  std::uint32_t device;
  std::uint8_t direction;
  std::uint8_t cause;  ///< trace::migration_cause
  std::uint16_t reserved;
};

/// `event_record` and `event_wait`.
struct event_edge_record {
  record_header header;
  std::uint64_t event;  ///< The driver's handle.
  std::uint64_t stream;
};

struct sync_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t stream;
  std::uint64_t kind;  ///< trace::sync_kind
};

struct range_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t name;
  std::uint64_t domain;
};

/// A range that ends in a record of its own: the writer knows of it even if the process is killed inside. `id` 0: it lies on
/// its thread's stack of `domain`; else any thread may end it.
struct range_begin_record {
  record_header header;
  std::uint64_t id;
  std::uint64_t name;
  std::uint64_t domain;
};

/// Ends range `id`, or with 0 the innermost of the thread's in `domain`.
struct range_end_record {
  record_header header;
  std::uint64_t id;
  std::uint64_t domain;
};

/// The program names a thread, its own or another.
struct thread_name_record {
  record_header header;
  std::uint64_t tid;
  std::uint64_t name;
};

struct marker_record {
  record_header header;
  std::uint64_t name;
  std::int64_t step;
};

struct counter_value_record {
  record_header header;
  std::uint64_t counter;
  double value;
};

struct file_io_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t file;  ///< String key of its path.
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t operation;  ///< trace::file_operation
};

/// Device times of this process are complete up to `header.time`.
struct watermark_record {
  record_header header;
};

struct message_record {
  record_header header;
  std::uint64_t severity;  ///< trace::severity
  std::uint64_t text;      ///< String key.
};

/// Written by the producer itself once there is room again after a ring was full.
struct loss_record {
  record_header header;  ///< `time`: the first loss.
  std::uint64_t end;     ///< The last one.
  std::uint64_t events;
  std::uint64_t memory_events;
};

struct graph_launch_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t graph;  ///< Key of the executable graph, or CUPTI's number with `foreign_graph_bit`.
  std::uint64_t stream;
  std::uint32_t device;
  std::uint32_t correlation;
};
/// Marks the key of a graph whose instantiation was not seen.
inline constexpr std::uint64_t foreign_graph_bit = std::uint64_t{1} << 63;

/// A launch names blocks: `count` words follow, each the address at which a live block begins. `header.time` is the entry edge of
/// the call.
struct touch_record {
  record_header header;
  std::uint64_t stream;
  std::uint64_t name;  ///< String key of the kernel.
  std::uint32_t correlation;
  std::uint32_t count;
};

/// A graph's node is made, by capture or by hand, or given other parameters: `count` words follow, each the address of a live block
/// that they name. Launches of the graph touch them from then on.
struct node_touch_record {
  record_header header;
  std::uint64_t stream;
  std::uint64_t name;   ///< String key of the kernel, or of the call that copies; 0: as before.
  std::uint64_t graph;  ///< The graph, or executable one; 0: that which the node is of.
  std::uint64_t node;   ///< Its handle; 0: not known, a new one.
  std::uint32_t correlation;
  std::uint32_t count;
  std::uint32_t more;  ///< 1: the blocks are further ones of the node that was told of last.
  std::uint32_t reserved;
};

/// A graph's node is, or in an executable one has become, what `child` is now: a graph, or an executable one.
struct child_graph_record {
  record_header header;
  std::uint64_t graph;  ///< 0: that which the node is of.
  std::uint64_t node;   ///< Its handle; 0: not known, a new one.
  std::uint64_t child;
};

/// A node of an executable graph does nothing from now on, or again what it did.
struct node_switch_record {
  record_header header;
  std::uint64_t graph;
  std::uint64_t node;
  std::uint64_t enabled;  ///< 0 or 1.
};

/// An executable graph is launched. What the device did comes later, as a `graph_launch_record`.
struct graph_call_record {
  record_header header;
  std::uint64_t graph;
  std::uint32_t correlation;
  std::uint32_t reserved;
};

/// The program says what the block at `address` is: a category ("weight"), a name, or both.
struct tag_record {
  record_header header;
  std::uint64_t address;
  std::uint64_t name;      ///< String key, 0: none.
  std::uint64_t category;  ///< String key, 0: none.
};

/// A graph that was captured or built, or (with `source`) an executable one made of it.
struct graph_definition_record {
  record_header header;
  std::uint64_t graph;   ///< The key: its handle. One that was known is another graph from here on.
  std::uint64_t source;  ///< The key of the graph it was instantiated from, 0: none.
  std::uint64_t nodes;
  std::uint64_t name;
};

/// What is live, sent after memory events were lost: `count` groups of three words follow, each address, bytes, and
/// layer | kind << 8 | device << 16. Several make one set, between one that begins it and one that ends it. A block that no part
/// names is gone; one that the writer did not know is born before. `flag_estimated`: it may lack some.
struct live_set_record {
  record_header header;
  std::uint32_t count;
  std::uint32_t last;  ///< live_set_part, live_set_ends or live_set_begins.
};
inline constexpr std::uint32_t live_set_part = 0, live_set_ends = 1, live_set_begins = 2;

/// What this process is recorded for.
struct mode_record {
  record_header header;
  std::uint64_t mode;  ///< trace::recording_mode
};

/// The GPU has faulted: a call in `context` was the first to say so. `count` groups of three words follow, each a launch before
/// it, the latest first: time of its entry, string key of the kernel, stream key.
struct fault_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t name;    ///< String key of the call.
  std::uint64_t stream;  ///< `stream_key` of the call's, 0: none.
  std::int64_t status;
  std::uint32_t context;
  std::uint32_t correlation;
  std::uint64_t count;
};

/// Copies that a call of many asks for: `count` groups of three words follow, each source, destination and bytes (0: not known),
/// those from number `first` on. Several make one batch, before the call's own record.
struct copy_parts_record {
  record_header header;
  std::uint64_t total;  ///< Copies that the call asks for; those beyond a limit are not told.
  std::uint64_t count;
  std::uint32_t correlation;
  std::uint32_t first;
};

/// Memory is made known to other processes, or (`imported`) has been had from one: after the record of its allocation here. `key`
/// is what the handle holds that both sides see; 0: it could not be told.
struct share_record {
  record_header header;
  std::uint64_t key;
  std::uint64_t what;  ///< The address, or the handle of physical memory or of a pool.
  std::uint64_t pool;  ///< Of a pool's memory that was imported, the pool's handle; else 0.
  std::uint32_t kind;  ///< shared_thing
  std::uint32_t imported;
};
enum class shared_thing : std::uint32_t { block, physical, pool, pool_block };

/// The type a record struct is written as.
template <class Record>
struct type_of;
#define SLUICE_RECORD(name)                                                   \
  template <>                                                                 \
  struct type_of<name##_record> {                                             \
    static constexpr record_type value = record_type::name;                   \
    static_assert(std::is_trivially_copyable_v<name##_record>);               \
    static_assert(sizeof(name##_record) % 8 == 0, "records are whole words"); \
  }
SLUICE_RECORD(string);
SLUICE_RECORD(thread);
SLUICE_RECORD(device);
SLUICE_RECORD(context);
SLUICE_RECORD(stream);
SLUICE_RECORD(pool);
SLUICE_RECORD(counter);
SLUICE_RECORD(frame);
SLUICE_RECORD(stack);
SLUICE_RECORD(module);
SLUICE_RECORD(alloc);
SLUICE_RECORD(free);
SLUICE_RECORD(free_completed);
SLUICE_RECORD(alloc_failed);
SLUICE_RECORD(pool_state);
SLUICE_RECORD(device_memory);
SLUICE_RECORD(api_call);
SLUICE_RECORD(copy);
SLUICE_RECORD(memset);
SLUICE_RECORD(kernel);
SLUICE_RECORD(migration);
SLUICE_RECORD(sync);
SLUICE_RECORD(range);
SLUICE_RECORD(marker);
SLUICE_RECORD(counter_value);
SLUICE_RECORD(file_io);
SLUICE_RECORD(watermark);
SLUICE_RECORD(message);
SLUICE_RECORD(loss);
SLUICE_RECORD(graph_launch);
SLUICE_RECORD(touch);
SLUICE_RECORD(tag);
SLUICE_RECORD(graph_definition);
SLUICE_RECORD(live_set);
SLUICE_RECORD(mode);
SLUICE_RECORD(range_begin);
SLUICE_RECORD(range_end);
SLUICE_RECORD(thread_name);
SLUICE_RECORD(context_end);
SLUICE_RECORD(graph_end);
SLUICE_RECORD(fault);
SLUICE_RECORD(copy_parts);
SLUICE_RECORD(content);
SLUICE_RECORD(node_touch);
SLUICE_RECORD(graph_call);
SLUICE_RECORD(share);
SLUICE_RECORD(child_graph);
SLUICE_RECORD(node_switch);
#undef SLUICE_RECORD

}  // namespace sluice::collector
