// The start and the end of libsluice_capture.so, the capture library. It is preloaded into every process of a recorded
// command, where it is idle until the CUDA driver calls InitializeInjection (CUDA_INJECTION64_PATH) or another event
// occurs. Whatever fails here, the program continues as if the library were not there.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "instrumentation/capture/blocks/contents.hpp"
#include "instrumentation/capture/blocks/faults.hpp"
#include "instrumentation/capture/blocks/touches.hpp"
#include "instrumentation/capture/frameworks/annotations.hpp"
#include "instrumentation/capture/frameworks/torch.hpp"
#include "instrumentation/capture/intercept/entry_points.hpp"
#include "instrumentation/capture/process/cupti_threads.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/other_profilers.hpp"
#include "instrumentation/capture/process/recording.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/capture/python_samples/python_sampler.hpp"
#include "instrumentation/capture/stacks/native_stack.hpp"
#include "instrumentation/capture/stacks/stacks.hpp"
#include "instrumentation/capture/start/in_process.h"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/recorder_threads.hpp"

namespace sluice::capture {

namespace {

constexpr unsigned info = raw(trace::severity::info), warning = raw(trace::severity::warning);
/// Maximum wait for the last records at the program's end. CUPTI returns within milliseconds, or hangs if the GPU does.
constexpr int last_flush_ms = 3000;
constexpr int last_samples_ms = 200;

CUpti_SubscriberHandle subscriber;
std::atomic<pid_t> owner{0};

char holder[128];

CUptiResult subscribe() {
  if (cupti.subscribe_named == nullptr) return cupti.subscribe(&subscriber, on_callback, nullptr);
  subscriber_parameters parameters;
  parameters.name = "sluice";
  parameters.holder = holder;
  parameters.holder_bytes = sizeof holder;
  const CUptiResult result = cupti.subscribe_named(&subscriber, on_callback, nullptr, &parameters);
  holder[sizeof holder - 1] = '\0';
  return result == CUPTI_ERROR_INVALID_PARAMETER ? cupti.subscribe(&subscriber, on_callback, nullptr) : result;
}

/// Reports another CUPTI subscriber, by name if CUPTI or our hooks know it. CUPTI's activity records are not used then
/// either, because registering our buffers would take the other's records away.
void report_other_profiler(CUptiResult result) {
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || result == CUPTI_ERROR_MAX_LIMIT_REACHED) {
    const char* who = earlier_subscriber()[0] != '\0' ? earlier_subscriber() : holder;
    char text[512];
    snprintf(text, sizeof text,
             "another profiler holds CUPTI in this process%s%s%s (CUPTI serves one): no GPU activity is recorded here; "
             "run the program without it",
             who[0] == '\0' ? "" : " (", who, who[0] == '\0' ? "" : ")");
    ring::message(warning, text);
    return;
  }
  const char* reason = nullptr;
  if (cupti.result_string != nullptr) cupti.result_string(result, &reason);
  char text[256];
  snprintf(text, sizeof text, "CUPTI cannot be used: %s; no GPU activity is recorded",
           reason == nullptr ? "no reason given" : reason);
  ring::message(warning, text);
}

/// Runs before the driver's exit handler, which was registered earlier. The rings stay open, because destructors may
/// still free memory.
void at_exit() {
  if (owner.load() != getpid()) return;
  note_ending(true);
  report_untouched();
  if (!finish_flushing(last_flush_ms)) {
    ring::message(warning, "CUPTI did not deliver its last records: device times end early");
  }
  // After the flush thread, which starts the sampling.
  finish_python_sampling(last_samples_ms);
}

void in_child() {
  owner.store(0);
  ring::forget_recorder_threads();
  forget_other_profilers();
  forget_flushing();
  forget_python_sampling();
  annotations::forget_sampling_pause();
  forget_faults();
  torch::forget_totals();
}

/// Enables the callbacks for contexts, streams and the handled calls.
void ask_for_callbacks(bool late) {
  if (enable_callbacks(subscriber, late) == 0) return;
  ring::message(warning, "CUPTI does not report contexts and streams: managed memory and stream names are missing");
}

/// Registers the fork and exit handlers, once, and marks this process as recorded by this library.
void take_over() {
  static std::atomic<bool> hooked{false};
  if (!hooked.exchange(true)) {
    pthread_atfork(nullptr, nullptr, in_child);
    atexit(at_exit);
  }
  owner.store(getpid());
  note_ending(false);
}

/// Starts recording through our entry points, without CUPTI. Returns false if the program does not use them, or the
/// driver is too old for the queries that replace CUPTI.
bool begin_at_entry_points() {
  char why[256];
  const bool possible = entry_points::lead_here() && may_use_entry_points() && open_driver(why, sizeof why) &&
                        driver.current_context != nullptr && driver.stream_id != nullptr &&
                        driver.context_device != nullptr && driver.create_stream != nullptr &&
                        driver.create_event != nullptr && driver.record_event != nullptr &&
                        driver.event_state != nullptr && driver.elapsed != nullptr;
  if (!possible || !prepare_calls()) return false;
  options.graphs = false;  // Only CUPTI knows their intervals.
  take_over();
  entry_points::start();
  ring::message(info,
                "recorded at the driver's entry points, without CUPTI: copy times are estimates from events around "
                "each copy; --mode timeline records the device's own times");
  return true;
}

/// Starts recording through CUPTI. Returns false, with a message, if that is not possible.
bool begin_with_cupti(const char* cupti_paths, bool late) {
  const cupti_thread_watch watch;
  char why[256];
  if (!open_libraries(cupti_paths, why, sizeof why)) {
    ring::message(warning, why);
    return false;
  }
  leave_out_code_at(reinterpret_cast<const void*>(cupti.subscribe));
  const CUptiResult result = subscribe();
  if (result != CUPTI_SUCCESS) {
    report_other_profiler(result);
    return false;
  }
  take_over();
  start_activity();
  ask_for_callbacks(late);
  watch_other_profilers();
  char text[640];
  snprintf(text, sizeof text, "recorded with CUPTI version %u, %s", cupti_version, cupti_location());
  ring::message(info, text);
  return true;
}

/// Starts recording this process. A writer must be connected. Returns false, with a message, if recording is not
/// possible.
bool begin(const char* cupti_paths, bool late) {
  torch::find_real_functions();
  prepare_stacks();
  if (options.stacks != stack_mode::none) start_native_stacks();
  ring::mode_record mode{};
  mode.header.time = ring::now();
  mode.mode = raw(options.mode);
  ring::emit(mode);
  ring::announce_recorder_threads();  // CUPTI's threads outlive a recording.
  if (!records_at_least(trace::recording_mode::timeline)) {
    ring::message(info, "recorded in memory mode: no kernel times; record with --mode timeline to get them");
  }
  say_what_of_contents();
  const bool begun = !late && begin_at_entry_points();
  if (!begun && !begin_with_cupti(cupti_paths, late)) return false;
  if (!start_flushing()) {
    ring::message(warning, "cannot start a thread that collects device times: they arrive at the end, or not at all");
  }
  start_python_sampling();
  return true;
}

/// Events emitted later (by destructors after ours) are not recorded, and do not connect again.
__attribute__((destructor)) void goodbye() { disconnect(); }

}  // namespace

bool attach_again() noexcept {
  const cupti_thread_watch watch;
  if (subscribe() != CUPTI_SUCCESS) return false;
  restart_activity();
  ask_for_callbacks(true);
  return true;
}

}  // namespace sluice::capture

using namespace sluice;

/// The function that the driver calls in this library. The driver calls it once, in the program's first cuInit. Further
/// calls (another driver, cuInit after a fork) are ignored.
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  static std::atomic<bool> called{false};
  if (called.exchange(true) || !capture::recording()) return 1;
  capture::begin(getenv(capture::cupti_path_variable), false);
  return 1;
}

int sluice_capture_start(const char* socket_name, const char* cupti_paths) {
  if (ring::active() || !ring::start(socket_name, {})) return 0;
  capture::read_options(trace::recording_mode::timeline);
  capture::forget_everything();
  capture::forget_functions();  // The functions' names are then sent to the new writer.
  capture::torch::forget_totals();
  if (capture::begin(cupti_paths, true)) return 1;
  ring::stop();
  return 0;
}

void sluice_capture_stop(void) {
  if (capture::owner.load() != getpid()) return;
  capture::forget_other_profilers();
  // Callbacks end first, so that nothing is enqueued that the last flush would miss.
  if (capture::cupti.unsubscribe != nullptr) capture::cupti.unsubscribe(capture::subscriber);
  capture::at_exit();
  capture::stop_activity();
  capture::owner.store(0);
  ring::stop();
}
