// A browser cannot read symbol files, so only the names stored in the recording are shown.
#include "core/symbols/symbol_file.hpp"

namespace sluice::symbols {

struct symbol_file::state {
  std::string none;
};

symbol_file::symbol_file(std::unique_ptr<state> s) : state_(std::move(s)) {}
symbol_file::~symbol_file() = default;

result<std::unique_ptr<symbol_file>> symbol_file::open(regular_file /*file*/, const std::string& path,
                                                       bool /*follow_split*/) {
  return fail(error_code::foreign, "is not read in a browser", path);
}

const std::string& symbol_file::build_id() const { return state_->none; }
const std::string& symbol_file::supplement_id() const { return state_->none; }
void symbol_file::supplement(std::unique_ptr<symbol_file> /*file*/) {}
std::vector<code_location> symbol_file::find_lines(std::uint64_t /*address*/) { return {}; }
std::string symbol_file::find_function(std::uint64_t /*address*/) { return {}; }

}  // namespace sluice::symbols
