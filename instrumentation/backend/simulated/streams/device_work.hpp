#pragma once

#include <cstdint>
#include <span>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/backend/kernel.hpp"
#include "instrumentation/backend/simulated/state/address_map.hpp"
#include "instrumentation/backend/simulated/state/address_space.hpp"
#include "instrumentation/backend/simulated/state/captures.hpp"
#include "instrumentation/backend/simulated/state/driver_call.hpp"
#include "instrumentation/backend/simulated/state/host_memory.hpp"
#include "instrumentation/backend/simulated/state/stream_table.hpp"
#include "instrumentation/backend/simulated/state/work_item.hpp"
#include "instrumentation/backend/simulated/streams/scheduler.hpp"

namespace sluice::backend::simulated {

/// The driver's calls that enqueue work: copies, memsets, kernels and host functions. Must live until no work and no
/// graph can run any more.
class device_work {
 public:
  /// `batches_copies`: false if a batch of copies is a loop.
  device_work(driver_calls& calls, stream_table& streams, captures& captures, scheduler& scheduler,
              const address_space& memory, const address_map& addresses, const host_memory& host, bool batches_copies)
      : calls_(calls),
        streams_(streams),
        captures_(captures),
        scheduler_(scheduler),
        memory_(memory),
        addresses_(addresses),
        host_(host),
        batches_copies_(batches_copies) {}

  // Functions of the device interface. They take the device's lock.
  [[nodiscard]] device_result<void> copy_async(void* destination, const void* source, std::uint64_t bytes,
                                               stream_handle stream);
  [[nodiscard]] device_result<void> copy_batch_async(std::span<const copy_piece> pieces, stream_handle stream);
  [[nodiscard]] device_result<void> set_async(void* address, std::uint8_t value, std::uint64_t bytes,
                                              stream_handle stream);
  [[nodiscard]] device_result<void> launch(const kernel_definition& kernel, const launch_config& shape,
                                           kernel_arguments arguments, stream_handle stream);
  [[nodiscard]] device_result<void> launch_host(host_function function, void* data, stream_handle stream);

 private:
  // These check the addresses and describe the work. The caller holds the lock.
  [[nodiscard]] device_result<work_item> copy_item(void* destination, const void* source, std::uint64_t bytes);
  [[nodiscard]] device_result<work_item> set_item(void* address, std::uint8_t value, std::uint64_t bytes);
  [[nodiscard]] device_result<work_item> launch_item(const kernel_definition& kernel, const launch_config& shape,
                                                     kernel_arguments arguments);
  [[nodiscard]] double copy_rate(const void* destination, const void* source, memory_space destination_space,
                                 memory_space source_space) const;
  [[nodiscard]] device_result<void> copy_one_by_one(std::span<const copy_piece> pieces, stream_handle stream);

  driver_calls& calls_;
  stream_table& streams_;
  captures& captures_;
  scheduler& scheduler_;
  const address_space& memory_;
  const address_map& addresses_;
  const host_memory& host_;
  bool batches_copies_;
};

}  // namespace sluice::backend::simulated
