#pragma once

// What the page does for the program; in page_functions.js. Texts are UTF-8. Only `sluice_read_slice` and `sluice_look`
// may be called by other threads than the page's own.
extern "C" {
/// Reads [offset, offset + length) of the file at `url` to `to`. Returns the number of bytes, or -1.
int sluice_read_slice(const char* url, double offset, void* to, int length);
/// Asks the server how much there is of the file at `url` now. Writes its size, and, as a text of fewer than `room` bytes,
/// which version is there now. Returns 1 if the file grows, 0 if it does not, -1 if there is no answer.
int sluice_look(const char* url, double* bytes, char* newest, int room);
/// Makes a file in the memory of the page's file system, with a size but without content.
void sluice_make_node(const char* folder, const char* name, double bytes);
/// From now on, `sluice_inputs` tells how often the user did something.
void sluice_watch_input();
int sluice_inputs();
void sluice_set_title(const char* text);
/// Puts a text on the clipboard.
void sluice_copy(const char* text);
/// 0 in a page that may share no memory between threads, such as one opened from disk.
int sluice_has_threads();
/// Calls `sluice_offer_file` for each of the recordings that come with the page.
void sluice_offer_recordings();
/// The browser's dialog to choose files; those chosen are opened.
void sluice_choose_file();
/// Downloads all files of a folder, but those that are still written (core/base/replacement), and removes them.
void sluice_give_files(const char* folder);
/// Downloads a part of the canvas, in pixels, as a PNG. Call it in the frame that was just drawn.
void sluice_give_picture(const char* name, int x, int y, int width, int height);
/// The page shows why there is no window.
void sluice_failed(const char* text);
/// The page may open files.
void sluice_ready();
}
