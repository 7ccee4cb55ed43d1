#pragma once

#include <cstdint>

#include "instrumentation/ring/record_types.hpp"

/// This header defines the records of driver calls and of device work, including graphs. `records.hpp` includes this
/// header and describes the record format.
namespace sluice::ring {

/// A driver call, written when the call returns; `header.time` is its start. For a
/// copy, this record contains the addresses, which CUPTI's activity record lacks.
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

/// What a `content_record` states about the data that a call copies to or from the host.
enum class content_stage : std::uint8_t {
  source,   ///< The hash of data that will be copied from the host. Comes before the call's api_call_record.
  awaited,  ///< A copy to the host: the hash follows as `arrived`. Comes before the call's api_call_record.
  arrived,  ///< The hash of data that was copied to the host. May be sent long after the call, by another thread.
};

/// A hash of the data that a call copies.
struct content_record {
  record_header header;
  std::uint64_t hash;
  std::uint64_t bytes;  ///< Number of bytes that were hashed.
  std::uint32_t correlation;
  std::uint8_t check;  ///< trace::content_check
  std::uint8_t stage;  ///< content_stage
  std::uint8_t reserved[2];
};

/// A copy as executed by the device; `header.time` is its start. `end` 0: unknown.
struct copy_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t bytes;
  std::uint64_t stream;
  std::uint64_t source;  ///< Addresses; 0 if only the api_call_record has them.
  std::uint64_t destination;
  std::uint64_t graph_node;
  std::uint32_t device;
  std::uint32_t peer;  ///< The other device of a peer copy; else `no_device`.
  std::uint32_t correlation;
  std::uint8_t direction;         ///< trace::direction
  std::uint8_t source_kind;       ///< trace::memory_kind
  std::uint8_t destination_kind;  ///< trace::memory_kind
  std::uint8_t reserved;
  std::uint32_t channel;  ///< The hardware channel, from 1; 0: unknown.
  std::uint32_t copies;   ///< For a batch: the number of copies in this record.
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

/// Type `event_record`: a CUDA event was recorded on `stream`. Type `event_wait`: `stream` was made to wait for the
/// event.
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
  std::uint64_t stack;
};

/// All device times of this process up to `header.time` have been written.
struct watermark_record {
  record_header header;
};

struct graph_launch_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t graph;  ///< Key of the executable graph, or CUPTI's number with `foreign_graph_bit`.
  std::uint64_t stream;
  std::uint32_t device;
  std::uint32_t correlation;
};
/// This bit is set in the key of a graph whose instantiation was not recorded.
inline constexpr std::uint64_t foreign_graph_bit = std::uint64_t{1} << 63;

/// The parameter words of a launch that may be addresses. The launch may use the blocks into which they point. `count`
/// words follow. A word refers to the innermost block that contained this address at `header.time`, the start of the
/// call. Most words that are not addresses are omitted. A launch with many words is split into several records with the
/// same time and correlation.
struct touch_record {
  record_header header;
  std::uint64_t stream;
  std::uint64_t name;  ///< String key of the kernel.
  std::uint32_t correlation;
  std::uint32_t count;
};

/// A graph node was created (captured or built) or got new parameters: `count` words follow, each
/// the address of a live block in the parameters. Later launches of the graph touch these blocks.
struct node_touch_record {
  record_header header;
  std::uint64_t stream;
  std::uint64_t name;   ///< String key of the kernel or copy call; 0: unchanged.
  std::uint64_t graph;  ///< The graph or executable graph; 0: the graph that contains the node.
  std::uint64_t node;   ///< The node's handle; 0: unknown, because the node is new.
  std::uint32_t correlation;
  std::uint32_t count;
  std::uint32_t more;  ///< 1: continues the previous record with more blocks of the same node.
  std::uint32_t reserved;
};

/// A graph node now contains the current content of `child` (a graph or executable graph).
struct child_graph_record {
  record_header header;
  std::uint64_t graph;  ///< 0: the graph that contains the node.
  std::uint64_t node;   ///< The node's handle; 0: unknown, because the node is new.
  std::uint64_t child;
};

/// A node of an executable graph was disabled or enabled.
struct node_switch_record {
  record_header header;
  std::uint64_t graph;
  std::uint64_t node;
  std::uint64_t enabled;  ///< 0 or 1.
};

/// An executable graph is being launched. A `graph_launch_record` with the device's activity follows later.
struct graph_call_record {
  record_header header;
  std::uint64_t graph;
  std::uint32_t correlation;
  std::uint32_t reserved;
};

/// A graph was captured or built or, if `source` is not 0, an executable graph was instantiated.
struct graph_definition_record {
  record_header header;
  std::uint64_t graph;   ///< The key: its handle. A handle that is reused denotes a new graph from here on.
  std::uint64_t source;  ///< Key of the graph from which it was instantiated; 0: it is not an executable graph.
  std::uint64_t nodes;
  std::uint64_t name;
};

/// A GPU fault: a call in `context` was the first to return the error. `count` groups of three words follow, one for
/// each preceding launch, latest first: start time, string key of the kernel, stream key.
struct fault_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t name;    ///< String key of the call.
  std::uint64_t stream;  ///< `stream_key` of the call; 0: the call has no stream.
  std::int64_t status;
  std::uint32_t context;
  std::uint32_t correlation;
  std::uint64_t count;
};

/// Some of the individual copies of a batch call, from number `first` on. `count` groups of three words follow: source,
/// destination, bytes (0: unknown). Several such records, before the call's own record, describe a whole batch.
struct copy_parts_record {
  record_header header;
  std::uint64_t total;  ///< Number of copies in the call; copies beyond a limit are not listed.
  std::uint64_t count;
  std::uint32_t correlation;
  std::uint32_t first;
};

}  // namespace sluice::ring
