// Transforms a file on the device, piece by piece, into another file, and checks the result on disk.
//   example_files [MEBIBYTES]     (default 64)
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "instrumentation/runtime/chunk_pipeline.hpp"
#include "instrumentation/runtime/kernel.hpp"

using namespace sluice::runtime;
namespace fs = std::filesystem;

int main(int count, char** words) {
  const std::uint64_t bytes = (count > 1 ? std::strtoull(words[1], nullptr, 10) : 64) << 20;
  const fs::path folder = fs::temp_directory_path() / ("sluice-example-" + std::to_string(getpid()));
  fs::create_directory(folder);
  bool right = true;
  try {
    mapped_file file = mapped_file::create(folder / "in", bytes);
    auto* const values = reinterpret_cast<std::uint32_t*>(file.writable_bytes().data());
    for (std::uint64_t i = 0; i < bytes / 4; ++i) values[i] = static_cast<std::uint32_t>(i);

    const mapped_file in(folder / "in");
    mapped_file out = mapped_file::create(folder / "out", bytes);
    const chunk_pipeline pipeline({.chunk_bytes = 1 << 19});
    const chunk_report report = pipeline.run(in, &out, [](const chunk& c, const stream_ref& s) {
      launch(kernels::affine_u32, launch_config::for_size(c.device.size() / 4), s,
             reinterpret_cast<std::uint32_t*>(c.device.data()), std::uint64_t{c.device.size() / 4}, 3u, 1u, 1u);
    });
    out.flush(0, bytes);
    fmt::print("{} pieces on {}, {}\n", report.chunks, current_device().name(), to_string(report.source));
    if (report.registered_rate > 0) {
      fmt::print("trial: {:.1f} GB/s staged, {:.1f} GB/s registered\n", report.staged_rate / 1e9,
                 report.registered_rate / 1e9);
    }
    const auto results = out.as<std::uint32_t>();
    for (std::uint64_t i = 0; i < results.size(); ++i)
      right = right && results[i] == static_cast<std::uint32_t>(3 * i + 1);
    fmt::print("{}\n", right ? "the file on disk is correct" : "the file on disk is WRONG");
  } catch (const error& e) {
    fmt::print(stderr, "{}\n", e.what());
    right = false;
  }
  fs::remove_all(folder);
  return right ? 0 : 1;
}
