#pragma once

#include <cstdint>

#include "instrumentation/ring/record_types.hpp"

/// Records of calls and of what the device does, graphs included. Part of `records.hpp`, which says how records are read.
namespace sluice::collector {

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

/// Device times of this process are complete up to `header.time`.
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

/// A graph that was captured or built, or (with `source`) an executable one made of it.
struct graph_definition_record {
  record_header header;
  std::uint64_t graph;   ///< The key: its handle. One that was known is another graph from here on.
  std::uint64_t source;  ///< The key of the graph it was instantiated from, 0: none.
  std::uint64_t nodes;
  std::uint64_t name;
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

}  // namespace sluice::collector
