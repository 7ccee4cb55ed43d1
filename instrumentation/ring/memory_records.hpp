#pragma once

#include <cstdint>

#include "instrumentation/ring/record_types.hpp"

/// This header defines the records about memory: allocations, frees, pools and sets of live blocks. `records.hpp`
/// includes this header and describes the record format.
namespace sluice::ring {

/// An allocation. `header.time` is the end of the call.
struct alloc_record {
  record_header header;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t reserved_bytes;
  std::uint64_t call_begin;  ///< Start of the call, same clock; 0: unknown.
  std::uint64_t pool;        ///< Pool key; 0: no pool.
  std::uint64_t stream;      ///< `stream_key`; 0: no stream.
  std::uint64_t name;        ///< String key of the call or of the tag.
  std::uint64_t parent;      ///< Address of the segment in the layer below; 0: the writer looks it up.
  std::uint64_t owner;       ///< For a mapping: handle of its physical memory; for graph memory: the graph; else 0.
  std::uint64_t stack;       ///< Stack key; 0: no stack.
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t correlation;
  std::uint8_t layer;  ///< trace::layer
  std::uint8_t kind;   ///< trace::memory_kind
  std::uint16_t reserved;
};

/// A free. `header.time` is the start of the call.
struct free_record {
  record_header header;
  std::uint64_t address;
  std::uint64_t bytes;  ///< For an unmapping: all mappings in this range end. Else 0.
  std::uint64_t stream;
  std::uint32_t correlation;
  std::uint8_t layer;
  std::uint8_t kind;
  std::uint16_t reserved;
};

/// Defines `key` for the properties that a pool's blocks on one stream share, so that the blocks' records can be short.
/// The process sends this record before the first record that contains the key, in the same ring. The key is a hash of
/// the other members, so it is equal in all processes.
struct pool_stream_record {
  record_header header;
  std::uint64_t key;
  std::uint64_t pool;    ///< Pool key, as in `alloc_record`.
  std::uint64_t stream;  ///< Also the stream on which blocks are freed in records with this key.
  std::uint64_t name;
  std::uint32_t device;
  std::uint32_t context;
  std::uint8_t layer;
  std::uint8_t kind;
  std::uint16_t reserved;
  std::uint32_t reserved_too;
};

/// A short `alloc_record`; the `pool_stream_record` supplies the other values. The call begins and ends at
/// `header.time`. The record may end after `pool_stream` or after `name`.
///
///   0                16        24        32               40            48             56       64
///   | header         | address | bytes   | reserved_bytes | pool_stream | name, or end | parent |
struct pool_stream_alloc_record {
  record_header header;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t reserved_bytes;
  std::uint64_t pool_stream;  ///< Key of a `pool_stream_record`.
  std::uint64_t name;         ///< String key; 0: the name in the `pool_stream_record`.
  std::uint64_t parent;       ///< As in `alloc_record`.
};

/// A short `free_record`; the `pool_stream_record` supplies the other values.
///
///   0                16        24            32
///   | header         | address | pool_stream |
struct pool_stream_free_record {
  record_header header;
  std::uint64_t address;
  std::uint64_t pool_stream;
};

/// A short `alloc_record` for device memory in the layer `framework`; the start of the call is unknown. The record fits
/// into one cache line, because training programs emit it more often than any other record.
///
///   0                16        24      32     40      48       56
///   | header         | address | bytes | name | stack | device |
struct framework_alloc_record {
  record_header header;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t name;  ///< This and the other members: as in `alloc_record`.
  std::uint64_t stack;
  std::uint64_t device;
};

/// A short `free_record` for a block that a `framework_alloc_record` announced.
struct framework_free_record {
  record_header header;
  std::uint64_t address;
};

/// A context was destroyed. All its allocations were freed with it.
struct context_end_record {
  record_header header;
  std::uint32_t context;
  std::uint32_t reserved;
};

/// A graph or an executable graph was destroyed.
struct graph_end_record {
  record_header header;
  std::uint64_t graph;
};

/// The latest free of `address` is complete: a synchronous
/// free returned, or the stream has reached the free.
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
  std::uint64_t threshold;  ///< Unused bytes that the pool keeps.
};

struct device_memory_record {
  record_header header;
  std::uint64_t free_bytes;
  std::uint64_t total_bytes;
  std::uint64_t recorder_bytes;
  std::uint32_t device;
  std::uint32_t reserved;
};

/// The program describes the block at `address` with a category (such as "weight"), a name, or both.
struct tag_record {
  record_header header;
  std::uint64_t address;
  std::uint64_t name;      ///< String key; 0: no name.
  std::uint64_t category;  ///< String key; 0: no category.
};

/// The live blocks of the process. It sends them after memory events were lost. `count` groups of three words follow:
/// address, bytes, and layer | kind << 8 | device << 16. A set consists of several such records; `last` marks the first
/// and the final record. The writer treats a known block that is missing from the set as freed, unless the block's pool
/// is not managed by the driver. It treats a block that it did not know as allocated before the recording. With
/// `flag_estimated`, the set may be incomplete.
struct live_set_record {
  record_header header;
  std::uint32_t count;
  std::uint32_t last;  ///< live_set_part, live_set_ends or live_set_begins.
};
inline constexpr std::uint32_t live_set_part = 0, live_set_ends = 1, live_set_begins = 2;

/// Maximum number of blocks in one record of a live set. An empty ring of the smallest size can always take such a
/// record as an ordinary one, including the padding before it.
inline constexpr std::uint32_t max_in_live_set_part = 250;

/// A block gets its timestamp shortly before the process's own table changes, and the thread may be suspended in
/// between. So a set ignores blocks that changed less than this time before the set began, and repairs only older
/// losses. In ns.
inline constexpr std::int64_t live_set_motion_ns = 20'000'000;

/// Live blocks of one of the program's own pools, sent by the owner of the pool. The set covers exactly that pool. The
/// writer treats the pool's known blocks that the set does not list as freed. If the set lists no block, all known
/// blocks of the pool are freed.
struct pool_live_set_record {
  record_header header;
  std::uint64_t pool;  ///< Pool key, as in `alloc_record`.
  std::uint32_t count;
  std::uint32_t last;
};

/// The copy of the producer that wrote this record has sent a live set for each of its pools since the time `since`.
/// Pools without a set were destroyed.
struct live_sets_complete_record {
  record_header header;
  std::uint64_t since;  ///< Same clock as `header.time`.
};

/// Memory was exported to other processes or, if `imported` is set, imported from another process. This record follows
/// the memory's allocation record. `key` identifies the handle in both processes (see `key_of_handle`); 0: unknown.
struct share_record {
  record_header header;
  std::uint64_t key;
  std::uint64_t object;  ///< The address, or the handle of physical memory or of a pool.
  std::uint64_t pool;    ///< For imported memory of a pool: the pool's handle; else 0.
  std::uint32_t kind;    ///< shared_thing
  std::uint32_t imported;
};
enum class shared_thing : std::uint32_t { block, physical, pool, pool_block };

}  // namespace sluice::ring
