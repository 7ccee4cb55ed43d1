// Runs one target as a libFuzzer program. If the first argument is a corpus folder, writes the target's seeds there.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/target.hpp"

namespace {

const sluice::fuzz::target& chosen() {
  static const sluice::fuzz::target target = sluice::fuzz::SLUICE_FUZZ_TARGET();
  return target;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  // Scratch files are in memory, because writing to a disk would take most of the time.
  if (std::filesystem::is_directory("/dev/shm")) setenv("TMPDIR", "/dev/shm", 1);
  const std::filesystem::path folder = *argc > 1 ? (*argv)[1] : "";
  if (!std::filesystem::is_directory(folder)) return 0;
  int number = 0;
  for (const auto& seed : chosen().seeds()) {
    std::ofstream out(folder / ("seed-" + std::to_string(number++)), std::ios::binary);
    out.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen().run({data, size});
  return 0;
}
