// Compares our prefixes of CUPTI's records with the CUPTI header of this build.
#include "instrumentation/capture/process/activity_layout.hpp"

#include <cupti.h>
#include <gtest/gtest.h>

namespace sluice::capture::layout {
namespace {

#define EXPECT_SAME(ours, field, theirs, their_field) \
  EXPECT_EQ(offsetof(ours, field), offsetof(theirs, their_field)) << #theirs "." #their_field

TEST(activity_layout, is_that_of_the_cuda_twelve_records) {
  EXPECT_SAME(memcpy_prefix, copy_kind, CUpti_ActivityMemcpy5, copyKind);
  EXPECT_SAME(memcpy_prefix, bytes, CUpti_ActivityMemcpy5, bytes);
  EXPECT_SAME(memcpy_prefix, stream, CUpti_ActivityMemcpy5, streamId);
  EXPECT_SAME(memcpy_prefix, correlation, CUpti_ActivityMemcpy5, correlationId);
  EXPECT_SAME(memcpy_prefix, graph_node, CUpti_ActivityMemcpy5, graphNodeId);
  EXPECT_SAME(memcpy_prefix, channel, CUpti_ActivityMemcpy5, channelID);
  EXPECT_SAME(memcpy_prefix, channel_type, CUpti_ActivityMemcpy5, channelType);
  EXPECT_SAME(memcpy_peer_prefix, destination_device, CUpti_ActivityMemcpyPtoP3, dstDeviceId);
  EXPECT_SAME(memcpy_peer_prefix, correlation, CUpti_ActivityMemcpyPtoP3, correlationId);
  EXPECT_SAME(memcpy_peer_prefix, graph, CUpti_ActivityMemcpyPtoP3, graphId);
  EXPECT_SAME(memset_prefix, memory_kind, CUpti_ActivityMemset3, memoryKind);
  EXPECT_SAME(memset_prefix, correlation, CUpti_ActivityMemset3, correlationId);
  EXPECT_SAME(memset_prefix, graph_node, CUpti_ActivityMemset3, graphNodeId);
  EXPECT_SAME(kernel_prefix, start, CUpti_ActivityKernel9, start);
  EXPECT_SAME(kernel_prefix, block, CUpti_ActivityKernel9, blockX);
  EXPECT_SAME(kernel_prefix, correlation, CUpti_ActivityKernel9, correlationId);
  EXPECT_SAME(kernel_prefix, name, CUpti_ActivityKernel9, name);
  EXPECT_SAME(kernel_prefix, graph_node, CUpti_ActivityKernel9, graphNodeId);
  EXPECT_SAME(migration_prefix, start, CUpti_ActivityUnifiedMemoryCounter2, start);
  EXPECT_SAME(migration_prefix, flags, CUpti_ActivityUnifiedMemoryCounter2, flags);
  EXPECT_SAME(device_prefix, compute_major, CUpti_ActivityDevice4, computeCapabilityMajor);
  EXPECT_SAME(device_prefix, uuid, CUpti_ActivityDevice4, uuid);
  EXPECT_SAME(device_prefix, name, CUpti_ActivityDevice4, name);
  EXPECT_SAME(device_prefix, visible, CUpti_ActivityDevice4, isCudaVisible);
  EXPECT_SAME(pcie_prefix, device, CUpti_ActivityPcie, id);
  EXPECT_SAME(pcie_prefix, link_width, CUpti_ActivityPcie, linkWidth);
  EXPECT_SAME(nvlink_prefix, second_uuid, CUpti_ActivityNvLink4, idDev1);
  EXPECT_SAME(nvlink_prefix, bandwidth, CUpti_ActivityNvLink4, bandwidth);
  EXPECT_SAME(graph_trace_prefix, correlation, CUpti_ActivityGraphTrace, correlationId);
  EXPECT_SAME(graph_trace_prefix, stream, CUpti_ActivityGraphTrace, streamId);
}

#if CUPTI_API_VERSION >= 130000
TEST(activity_layout, is_that_of_the_cuda_thirteen_records) {
  EXPECT_SAME(memcpy_prefix, graph, CUpti_ActivityMemcpy6, graphId);
  EXPECT_SAME(memcpy_prefix, channel, CUpti_ActivityMemcpy6, channelID);
  EXPECT_EQ(copy_count_offset, offsetof(CUpti_ActivityMemcpy6, copyCount));
  EXPECT_SAME(memcpy_peer_prefix, graph, CUpti_ActivityMemcpyPtoP4, graphId);
  EXPECT_SAME(memset_prefix, graph, CUpti_ActivityMemset4, graphId);
  EXPECT_SAME(kernel_prefix, name, CUpti_ActivityKernel10, name);
  EXPECT_SAME(kernel_prefix, graph, CUpti_ActivityKernel10, graphId);
  EXPECT_SAME(migration_prefix, flags, CUpti_ActivityUnifiedMemoryCounter3, flags);
  EXPECT_SAME(device_prefix, visible, CUpti_ActivityDevice5, isCudaVisible);
  EXPECT_SAME(graph_trace_prefix, stream, CUpti_ActivityGraphTrace2, streamId);
}
#endif

TEST(activity_layout, names_the_kinds_as_cupti_does) {
  EXPECT_EQ(kind_memcpy, static_cast<unsigned>(CUPTI_ACTIVITY_KIND_MEMCPY));
  EXPECT_EQ(kind_memset, static_cast<unsigned>(CUPTI_ACTIVITY_KIND_MEMSET));
  EXPECT_EQ(kind_device, static_cast<unsigned>(CUPTI_ACTIVITY_KIND_DEVICE));
  EXPECT_EQ(kind_concurrent_kernel, static_cast<unsigned>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  EXPECT_EQ(kind_memcpy_peer, static_cast<unsigned>(CUPTI_ACTIVITY_KIND_MEMCPY2));
  EXPECT_EQ(kind_unified_memory_counter, static_cast<unsigned>(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
  EXPECT_EQ(kind_pcie, static_cast<unsigned>(CUPTI_ACTIVITY_KIND_PCIE));
  EXPECT_EQ(kind_graph_trace, static_cast<unsigned>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
}

}  // namespace
}  // namespace sluice::capture::layout
