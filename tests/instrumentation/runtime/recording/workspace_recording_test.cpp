// The workspaces of library handles appear in recordings.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "instrumentation/runtime/recording.hpp"
#include "tests/instrumentation/runtime/libraries.hpp"

namespace sluice::runtime {
namespace {

class recorded_libraries : public libraries {};
SLUICE_ON_EACH_DEVICE(recorded_libraries);

TEST_P(recorded_libraries, have_a_workspace_that_is_seen) {
  library_handle<cublas>::release_all();
  const auto path = std::filesystem::temp_directory_path() / ("sluice_blas_" + std::to_string(getpid()) + ".sluice");
  std::size_t bytes = 0;
  {
    recording r(path.string(), device());
    const library_handle<cublas> blas;
    bytes = blas->workspace_bytes();
    library_handle<cublas>::release_all();
    r.finish();
  }
  const auto file = trace::file::open(path.string());
  ASSERT_TRUE(file);
  const auto snapshot = (*file)->latest();
  std::vector<std::uint64_t> seen;
  (void)snapshot->for_each<trace::alloc_event>([&](const auto& a) {
    if (snapshot->tables().text(a.name) == cublas::workspace_tag && a.layer == trace::layer::user)
      seen.push_back(a.bytes);
  });
  std::filesystem::remove(path);
  EXPECT_THAT(seen, testing::ElementsAre(bytes));
  EXPECT_GE(bytes, std::size_t{4} << 20);
}

}  // namespace
}  // namespace sluice::runtime
