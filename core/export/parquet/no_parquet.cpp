// Replaces parquet.cpp on platforms that cannot start programs, such as a browser. Data sets need a Python process.
#include "core/export/formats.hpp"

namespace sluice::exports {

output_shape shape_of_parquet(const options& /*wanted*/) { return output_shape::data_set; }

result<void> write_parquet(job& /*what*/, output& /*to*/) {
  return fail(error_code::unavailable, "a data set cannot be written in a browser", {},
              "use `sluice export --format parquet`");
}

}  // namespace sluice::exports
