// The cost of the runtime, on the CUDA device and on the simulated device.
//   ./dev bench runtime
#include <vector>

#include "tests/bench/runtime/lines.hpp"

namespace sluice::bench {

namespace {

std::vector<topic>& topics() {
  static std::vector<topic> items;
  return items;
}

}  // namespace

topic_lines::topic_lines(topic lines) { topics().push_back(lines); }

}  // namespace sluice::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  using namespace sluice;
  std::vector<runtime::device_ref> devices;
  if (runtime::is_available()) devices.push_back(runtime::devices().front());
  devices.push_back(runtime::simulated_device());
  for (const runtime::device_ref& device : devices) {
    benchmark::AddCustomContext(device.simulated() ? "simulated" : "cuda", std::string(device.name()));
    for (const bench::topic lines : bench::topics()) lines(device);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
