#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "app/demos/affine.hpp"
#include "app/demos/demo.hpp"
#include "core/base/files/scratch_file.hpp"
#include "instrumentation/runtime/chunk_pipeline.hpp"

namespace sluice::demos {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t file_bytes = 64u << 20;
constexpr std::size_t chunk_bytes = 2u << 20;
constexpr std::uint32_t rounds = 512;

// Writes a file of `file_bytes` zeros, which stays in the page cache. Throws if the disk is full. (Without space,
// writing to a mapping of the file would raise SIGBUS.)
fs::path make_file(const fs::path& path) {
  const std::vector<char> zeros(file_bytes);
  FILE* file = std::fopen(path.c_str(), "wb");
  const bool written = file && std::fwrite(zeros.data(), 1, zeros.size(), file) == zeros.size();
  if (!file || std::fclose(file) != 0 || !written)
    throw std::runtime_error(path.string() + ": no space for 64 MiB; set TMPDIR");
  return path;
}

std::span<const std::uint32_t> words(const runtime::mapped_file& file) { return file.as<std::uint32_t>(); }

}  // namespace

void chunked_file(context& c) {
  const auto output = scratch_folder::make();
  if (!output) throw std::runtime_error(output.error().to_string());
  const fs::path folder = output->path();
  runtime::mapped_file in(make_file(folder / "input.bin"), runtime::file_access::read_write, c.device());
  const auto content = in.writable_bytes();
  fill_input({reinterpret_cast<std::uint32_t*>(content.data()), content.size() / 4});

  for (const bool overlapped : {false, true}) {
    const char* name = overlapped ? "pipeline" : "plain loop";
    runtime::mapped_file out(make_file(folder / (overlapped ? "piped.bin" : "plain.bin")),
                             runtime::file_access::read_write, c.device());
    const runtime::chunk_pipeline pipeline(
        {.chunk_bytes = chunk_bytes, .depth = 16, .readers = 8, .overlap = overlapped}, c.device());
    const runtime::scoped_range range(name);
    runtime::mark(name);
    const auto begin = c.now_ns();
    const auto report = pipeline.run(
        in, &out,
        [](const runtime::chunk& piece, const runtime::stream_ref& stream) {
          launch_rounds({reinterpret_cast<std::uint32_t*>(piece.device.data()), piece.device.size() / 4}, rounds,
                        stream);
        },
        [&](double share) { c.progress((share + (overlapped ? 1 : 0)) / 2); }, c.stop());
    if (report.stopped) return;
    const double ns = static_cast<double>(c.now_ns() - begin);
    context::check(is_output(words(out), rounds), name);
    c.say(fmt::format("{}: {:.2f} GB/s from file to file", name, static_cast<double>(report.bytes) / ns));
  }
}

}  // namespace sluice::demos
