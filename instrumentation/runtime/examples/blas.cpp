// Multiplies two matrices with cuBLAS, whose workspace is a recorded allocation. On
// the simulated device, the same handle uses Sluice's own product. Checks the result.
//   example_blas
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/library_handle.hpp"

using namespace sluice::runtime;

int main() try {
  constexpr std::uint32_t n = 96;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (std::uint32_t i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i % 7);
    b[i] = static_cast<float>(i % 5);
  }
  const stream s;
  const device_buffer da(a.size() * 4, s), db(b.size() * 4, s), dc(c.size() * 4, s);
  copy(da.data(), a.data(), da.size_bytes(), s);
  copy(db.data(), b.data(), db.size_bytes(), s);
  const library_handle<cublas> blas(s);
  blas->sgemm({.rows = n, .columns = n, .inner = n}, 1, da.as<float>().data(), db.as<float>().data(), 0,
              dc.as<float>().data());
  copy(c.data(), dc.data(), dc.size_bytes(), s);
  bool right = true;
  for (std::uint32_t column = 0; column < n; ++column) {
    for (std::uint32_t row = 0; row < n; ++row) {
      float sum = 0;
      for (std::uint32_t i = 0; i < n; ++i) sum += a[i * n + row] * b[column * n + i];
      right = right && std::abs(c[column * n + row] - sum) < 1e-2F * n;
    }
  }
  fmt::print("cuBLAS {} on {}, workspace of {} bytes: {}\n", blas->version(), current_device().name(),
             blas->workspace_bytes(), right ? "the product is correct" : "the product is WRONG");
  return right ? 0 : 1;
} catch (const error& e) {
  // Not every machine with a GPU has cuBLAS.
  fmt::print(stderr, "{}\n", e.what());
  return e.code() == status::unavailable ? 0 : 1;
}
