#include "tests/gui/panel_fixture.hpp"

#include <chrono>
#include <filesystem>
#include <thread>

#include "imgui_internal.h"

namespace sluice::test {
namespace {

/// Takes the textures that ImGui wants to be made, as a renderer does.
void take_textures() {
  for (ImTextureData* each : ImGui::GetPlatformIO().Textures) {
    const bool unwanted = each->Status == ImTextureStatus_WantDestroy;
    each->SetTexID(unwanted ? ImTextureID_Invalid : ImTextureID{1});
    each->SetStatus(unwanted ? ImTextureStatus_Destroyed : ImTextureStatus_OK);
  }
}

void wait_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

}  // namespace

panel_test::panel_test() : imgui_(ImGui::CreateContext()) {
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.DisplaySize = {1200, 800};
  io.BackendFlags |= ImGuiBackendFlags_RendererHasTextures;
  fonts_ = gui::load_typefaces();
  gui::apply_style(gui::get_theme(gui::theme_kind::dark), 1);
  write_sample(path);
}

panel_test::~panel_test() {
  ImGui::DestroyContext(imgui_);
  std::filesystem::remove(path);
}

void panel_test::record(const std::function<void(testing::recording&)>& write) {
  testing::recording recorded;
  write(recorded);
  recorded.close();
  std::filesystem::copy_file(recorded.path(), path, std::filesystem::copy_options::overwrite_existing);
}

void panel_test::open() {
  if (state.ready()) return;
  state.animations = false;
  state.open(path);
  while (state.opening() || !state.ready()) {
    wait_a_little();
    state.update(0.02);
  }
}

std::string panel_test::read(std::unique_ptr<gui::view> panel,
                             const std::vector<std::pair<std::string, gui::argument>>& first) {
  open();
  commands = {};
  panel->add_commands({commands, state, remembered});
  for (const auto& [id, with] : first) commands.invoke(id, with);
  commands.run_queued();
  gui::view_context with{state, commands, gui::get_theme(gui::theme_kind::dark), fonts_, boxes_, tables_};
  std::string words;
  for (int quiet = 0; quiet < 4; quiet = state.busy() || panel->status().busy ? 0 : quiet + 1) {
    wait_a_little();
    state.update(0.02);
    ImGui::NewFrame();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::LogToBuffer();
    if (ImGui::Begin(panel->name())) panel->draw(with);
    ImGui::End();
    words = imgui_->LogBuffer.c_str();
    ImGui::LogFinish();
    ImGui::Render();
    take_textures();
  }
  return words;
}

}  // namespace sluice::test
