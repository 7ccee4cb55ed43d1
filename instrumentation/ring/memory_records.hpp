#pragma once

#include <cstdint>

#include "instrumentation/ring/record_types.hpp"

/// Records of memory: what is allocated and freed, pools, what is live. Part of `records.hpp`, which says how records are read.
namespace sluice::collector {

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
  std::uint8_t layer;  ///< trace::layer
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
  std::uint8_t layer;
  std::uint8_t kind;
  std::uint16_t reserved;
};

/// Introduces `key`: what the blocks that a pool gives out on one stream have in common, so that each of them is told in few words.
/// Sent before the first of them, in the same ring. The key is `pool_stream_key` of the rest, so that all processes may share it.
struct pool_stream_record {
  record_header header;
  std::uint64_t key;
  std::uint64_t pool;    ///< As in `alloc_record`.
  std::uint64_t stream;  ///< So that a pool_stream also says where a block is freed.
  std::uint64_t name;
  std::uint32_t device;
  std::uint32_t context;
  std::uint8_t layer;
  std::uint8_t kind;
  std::uint16_t reserved;
  std::uint32_t reserved_too;
};

/// An `alloc_record` in short: the rest is the pool_stream's. Both edges of the call are at `header.time`. May end after `pool_stream`, or after
/// `name`.
///
///   0                16        24        32               40       48             56       64
///   | header         | address | bytes   | reserved_bytes | pool_stream   | name, or end | parent |
struct pool_stream_alloc_record {
  record_header header;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t reserved_bytes;
  std::uint64_t pool_stream;  ///< The key of a `pool_stream_record`.
  std::uint64_t name;         ///< 0: the pool_stream's.
  std::uint64_t parent;       ///< As in `alloc_record`.
};

/// A `free_record` in short.
///
///   0                16        24      32
///   | header         | address | pool_stream  |
struct pool_stream_free_record {
  record_header header;
  std::uint64_t address;
  std::uint64_t pool_stream;
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
  std::uint8_t layer;
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
  std::uint8_t layer;
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

/// The program says what the block at `address` is: a category ("weight"), a name, or both.
struct tag_record {
  record_header header;
  std::uint64_t address;
  std::uint64_t name;      ///< String key, 0: none.
  std::uint64_t category;  ///< String key, 0: none.
};

/// What is live, sent after memory events were lost: `count` groups of three words follow, each address, bytes, and
/// layer | kind << 8 | device << 16. Several make one set, between one that begins it and one that ends it. A block that no part
/// names is gone, but for those of pools that the driver does not manage; one that the writer did not know is born before.
/// `flag_estimated`: it may lack some.
struct live_set_record {
  record_header header;
  std::uint32_t count;
  std::uint32_t last;  ///< live_set_part, live_set_ends or live_set_begins.
};
inline constexpr std::uint32_t live_set_part = 0, live_set_ends = 1, live_set_begins = 2;

/// Blocks in a part: an empty ring of the smallest size takes it wherever it begins, for ordinary records and with what fills the
/// ring's end before it.
inline constexpr std::uint32_t most_in_live_set_part = 250;

/// A block is stamped a moment before the process's own table has it or forgets it, and a thread may be put to sleep in between: what
/// moved so long before a set began is left to its own records. So a set makes good what was lost until then only.
inline constexpr std::int64_t live_set_motion_ns = 20'000'000;

/// The same of one pool that the program has, by whoever has it: it speaks of that pool's blocks and of no others, all of them if
/// none is named.
struct pool_live_set_record {
  record_header header;
  std::uint64_t pool;  ///< As in `alloc_record`.
  std::uint32_t count;
  std::uint32_t last;
};

/// All pools that the sender's copy of the producer knows have told their sets since `since`: those that have not are gone.
struct pools_told_record {
  record_header header;
  std::uint64_t since;  ///< As `header.time`.
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

}  // namespace sluice::collector
