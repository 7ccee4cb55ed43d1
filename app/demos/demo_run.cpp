#include "app/demos/demo_run.hpp"

#include <exception>
#include <optional>
#include <stdexcept>

#include "instrumentation/backend/own_stacks.hpp"
#include "instrumentation/backend/simulated/device/device.hpp"
#include "instrumentation/runtime/recording.hpp"

/// The ends of the section with the functions marked SLUICE_DEMO_CODE; the linker defines these names.
extern "C" {
extern const char __start_sluice_demo[];
extern const char __stop_sluice_demo[];
}

namespace sluice::demos {

result<runtime::device_ref> choose_device(device_choice choice) {
  if (choice == device_choice::cuda && !runtime::is_available()) {
    return fail(error_code::unavailable, "no CUDA device: " + runtime::why_unavailable(), {}, "use --device sim");
  }
  if (choice == device_choice::simulated || !runtime::is_available()) {
    // Make a new device for each run, so that every run starts at the same time and with the same addresses.
    return runtime::device_ref(backend::make_simulated_device());
  }
  return runtime::devices().front();
}

result<demo_outcome> run_demo(const demo& subject, const demo_options& options) {
  const auto device = choose_device(options.device);
  if (!device) return tl::unexpected(device.error());
  const runtime::device_guard guard(*device);
  demo_outcome outcome;
  outcome.device = device->name();
  backend::simulated_clock* clock = device->backend().clock();
  try {
    std::optional<runtime::recording> recording;
    // On other devices, the capture library reads the stacks.
    if (clock) backend::record_callers_in({__start_sluice_demo, __stop_sluice_demo});
    if (!options.output.empty()) recording.emplace(options.output, *device);
    if (clock && options.wall_seconds > 0) clock->pace(options.wall_seconds / subject.simulated_seconds);
    // If a stop is requested, the demo must not wait for the paced device.
    const std::stop_callback at_once(options.stop, [clock] {
      if (clock) clock->stop_pacing();
    });
    context c(*device, options.stop, options.say);
    const auto finish = [&] {
      if (clock) clock->stop_pacing();
      if (!recording) {
        // A recorder outside this process records until the process exits, so leaked memory must exist until then.
        static auto* const never_freed = new std::vector<runtime::buffer>;
        for (runtime::buffer& memory : c.take_left_behind()) never_freed->push_back(std::move(memory));
        return;
      }
      const auto summary = recording->finish();
      outcome.file_bytes = summary.bytes;
      outcome.lost_events = summary.lost;
    };
    try {
      subject.run(c);
    } catch (...) {
      finish();
      throw;
    }
    finish();
    outcome.stopped = options.stop.stop_requested();
  } catch (const wrong_result& e) {
    return fail(error_code::corrupt, e.what(), std::string(subject.name));
  } catch (const std::exception& e) {
    return fail(error_code::io, e.what(), std::string(subject.name));
  }
  return outcome;
}

}  // namespace sluice::demos
