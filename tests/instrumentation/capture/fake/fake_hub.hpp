#pragma once
// State shared by the fake driver, the fake CUPTI and the replayer: subscriptions, and the records that wait for a
// buffer.
// The fake libcuda.so.1 contains this state. The fake libcupti and the programs get it through `sluice_fake_hub`.

#include <cuda.h>
#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::fake {

class hub {
 public:
  virtual ~hub() = default;

  // --- CUPTI's side ---------------------------------------------------------------------------------------------------
  virtual CUptiResult subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) = 0;
  /// Ends callbacks and disables everything that was enabled.
  virtual CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber) = 0;
  /// Resets everything as if CUPTI had never been used.
  virtual void finalize() = 0;
  virtual void enable_callback(CUpti_CallbackDomain domain, std::uint32_t id, bool on) = 0;
  virtual void enable_domain(CUpti_CallbackDomain domain, bool on) = 0;
  virtual CUptiResult enable_activity(std::uint32_t kind, bool on) = 0;
  virtual void register_buffers(CUpti_BuffersCallbackRequestFunc request,
                                CUpti_BuffersCallbackCompleteFunc complete) = 0;
  virtual void register_timestamp(CUpti_TimestampCallbackFunc timestamp) = 0;
  virtual CUptiResult next_record(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) = 0;
  virtual std::size_t take_dropped() = 0;
  /// Delivers all waiting records, in buffers requested from the client.
  virtual void flush() = 0;
  virtual std::uint32_t context_number(CUcontext context) = 0;
  virtual std::uint32_t find_device(CUcontext context) = 0;
  virtual std::uint32_t stream_number(CUcontext context, CUstream stream) = 0;

  // --- the driver's side ----------------------------------------------------------------------------------------------
  /// Calls the subscriber's callback if the subscriber enabled this callback id.
  virtual void callback(CUpti_CallbackDomain domain, std::uint32_t id, const void* data) = 0;
  /// Queues a record if its kind is enabled. The bytes at `name_offset` become a pointer to `name`, which stays valid
  /// forever.
  virtual void add_record(std::vector<std::uint8_t> bytes, std::size_t name_offset, const std::string& name) = 0;
  /// The current time on the clock that the client registered.
  virtual std::uint64_t timestamp() = 0;
  virtual void set_context(CUcontext context, std::uint32_t number, std::uint32_t device) = 0;
  virtual void set_stream(CUcontext context, CUstream stream, std::uint32_t number) = 0;
  virtual std::uint32_t next_correlation() = 0;

  // --- behavior of the fakes, from SLUICE_FAKE_* variables -----------------------------------------------------------
  std::uint32_t cupti_version = 130001;
  bool refuse_subscriber = false;      ///< As if another profiler were subscribed.
  bool steal_records = false;          ///< As if another profiler had registered its own buffers.
  bool complete_null_buffers = false;  ///< Call bufferCompleted(nullptr) after every real buffer.
  bool overstate_valid_size = false;   ///< Report a valid size that is larger than the buffer.

  /// The effect of a GPU fault on later flushes (SLUICE_FAKE_AFTER_FAULT): with "errors" they fail, with "blocks" they
  /// never return, and otherwise they work as before.
  enum class flushing { works, fails, blocks };
  std::atomic<flushing> flushes{flushing::works};
};

}  // namespace sluice::fake

extern "C" sluice::fake::hub* sluice_fake_hub();
