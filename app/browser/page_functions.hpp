#pragma once

// Functions that the page provides, in page_functions.js. Texts are UTF-8. Only `sluice_read_slice` and `sluice_look`
// may be called from threads other than the page's own.
extern "C" {
/// Reads [offset, offset + length) of the file at `url` into `to`. Returns the number of bytes read, or -1.
int sluice_read_slice(const char* url, double offset, void* to, int length);
/// Asks the server for the current size of the file at `url`. Writes the size to `bytes`, and the current version to
/// `newest`, as a text of fewer than `room` bytes. Returns 1 if the file is growing, 0 if it is not, -1 if the server
/// does not respond.
int sluice_look(const char* url, double* bytes, char* newest, int room);
/// Creates a file in the page's in-memory file system that has a size but no content.
void sluice_make_node(const char* folder, const char* name, double bytes);
/// Starts counting the user's input events, for `sluice_inputs`.
void sluice_watch_input();
int sluice_inputs();
void sluice_set_title(const char* text);
/// Copies a text to the clipboard.
void sluice_copy(const char* text);
/// Returns 0 on a page whose threads cannot share memory, such as a page opened from disk.
int sluice_has_threads();
/// Calls `sluice_offer_file` for each recording that comes with the page.
void sluice_offer_recordings();
/// Shows the browser's file dialog, and opens the chosen files.
void sluice_choose_file();
/// Downloads all files of a folder, and then removes them, except those still being written (core/base/files/replacement).
void sluice_give_files(const char* folder);
/// Downloads a part of the canvas as a PNG; the part is given in pixels. Call in the frame in which the canvas was
/// drawn.
void sluice_give_picture(const char* name, int x, int y, int width, int height);
/// Makes the page show why it cannot show the window.
void sluice_failed(const char* text);
/// Tells the page that it may open files.
void sluice_ready();
}
