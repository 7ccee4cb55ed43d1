#pragma once

#include <cstddef>
#include <cstdint>

/// The layout of CUPTI's activity records. CUPTI, NVIDIA's profiling library, reports finished device work in them. For
/// each kind of record that we read, a struct describes the record's first bytes (its "prefix"). CUPTI extends records
/// only at the end, so one layout fits all versions from `oldest_version` on. The prefixes are the same in CUDA 12.0
/// (CUpti_ActivityKernel9, Memcpy5, MemcpyPtoP3, Memset3, UnifiedMemoryCounter2, Device4) and 13.0 (Kernel10, Memcpy6,
/// MemcpyPtoP4, Memset4, UnifiedMemoryCounter3, Device5). A test compares them with CUPTI's header.
namespace sluice::capture::layout {

/// The number that cuptiGetVersion returns for CUDA 12.0.
inline constexpr std::uint32_t oldest_version = 18;

/// Values of CUpti_ActivityKind.
enum activity_kind : std::uint32_t {
  kind_memcpy = 1,
  kind_memset = 2,
  kind_device = 8,
  kind_concurrent_kernel = 10,
  kind_memcpy_peer = 22,
  kind_unified_memory_counter = 25,
  kind_nvlink = 40,
  kind_pcie = 46,
  kind_graph_trace = 51,
};

#pragma pack(push, 1)

struct memcpy_prefix {
  std::uint32_t kind;
  std::uint8_t copy_kind, source_kind, destination_kind, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, correlation, runtime_correlation, pad;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph, channel, channel_type;
};

/// CUpti_ActivityMemcpy6 has a member with the number of copies in a batch. The constants are the first CUPTI version
/// that has the member, and its offset.
inline constexpr std::uint32_t copy_count_version = 130000;
inline constexpr std::size_t copy_count_offset = 88;

struct memcpy_peer_prefix {
  std::uint32_t kind;
  std::uint8_t copy_kind, source_kind, destination_kind, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, source_device, source_context, destination_device, destination_context,
      correlation;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};

struct memset_prefix {
  std::uint32_t kind, value;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, correlation;
  std::uint16_t flags, memory_kind;
  std::uint32_t pad;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph;
};

struct kernel_prefix {
  std::uint32_t kind;
  std::uint8_t cache_config, shared_memory_config;
  std::uint16_t registers_per_thread;
  std::uint32_t partitioned_requested, partitioned_executed;
  std::uint64_t start, end, completed;
  std::uint32_t device, context, stream;
  std::int32_t grid[3], block[3], static_shared, dynamic_shared;
  std::uint32_t local_per_thread, local_total, correlation;
  std::int64_t grid_id;
  const char* name;
  void* reserved;
  std::uint64_t queued, submitted;
  std::uint8_t launch_type, carveout_requested, carveout, padding;
  std::uint32_t shared_executed;
  std::uint64_t graph_node;
  std::uint32_t shared_limit_config, graph;
};

struct migration_prefix {
  std::uint32_t kind, counter_kind;
  std::uint64_t value, start, end, address;
  std::uint32_t source, destination, stream, process, flags;
};

struct device_prefix {
  std::uint32_t kind, flags;
  std::uint64_t memory_bandwidth, memory_bytes;
  std::uint32_t constant_bytes, l2_bytes, warp_threads, clock_khz, copy_engines, multiprocessors, max_ipc, max_warps,
      max_blocks, max_shared, max_registers, max_registers_block, max_shared_block, max_threads_block, max_block[3],
      max_grid[3], compute_major, compute_minor, id, ecc;
  std::uint8_t uuid[16];
  const char* name;
  std::uint8_t visible;
};

struct pcie_prefix {
  std::uint32_t kind, type;  ///< type 0 is a GPU, 1 a bridge
  std::int32_t device;
  std::uint32_t domain;
  std::uint16_t generation, link_rate, link_width, upstream_bus;  ///< link_rate in MT/s
};

/// CUpti_ActivityNvLink4: the NVLink links between two devices.
struct nvlink_prefix {
  std::uint32_t kind, version, first_type, second_type;  ///< type 1 is a GPU
  std::uint8_t first_uuid[16], second_uuid[16];
  std::uint32_t flags, links;
  std::int8_t first_ports[32], second_ports[32];
  std::uint64_t bandwidth;  ///< kB/s, sum of both directions
};

struct graph_trace_prefix {
  std::uint32_t kind, correlation;
  std::uint64_t start, end;
  std::uint32_t device, graph, context, stream;
};

#pragma pack(pop)

/// The minimum size in bytes of a record of this kind (the size of its prefix); 0 for kinds that we do not read.
[[nodiscard]] constexpr std::size_t prefix_bytes(std::uint32_t kind) {
  switch (kind) {
    case kind_memcpy:
      return sizeof(memcpy_prefix);
    case kind_memcpy_peer:
      return sizeof(memcpy_peer_prefix);
    case kind_memset:
      return sizeof(memset_prefix);
    case kind_concurrent_kernel:
      return sizeof(kernel_prefix);
    case kind_unified_memory_counter:
      return sizeof(migration_prefix);
    case kind_device:
      return sizeof(device_prefix);
    case kind_nvlink:
      return sizeof(nvlink_prefix);
    case kind_pcie:
      return sizeof(pcie_prefix);
    case kind_graph_trace:
      return sizeof(graph_trace_prefix);
    default:
      return 0;
  }
}

}  // namespace sluice::capture::layout
