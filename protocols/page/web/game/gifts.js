// What is dropped anywhere on the page, or pasted outside a field, is a game to review.

export function takeGifts(files) {
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) files.readFile(file);
    else files.read(event.dataTransfer.getData("text"));
  });
  document.addEventListener("paste", (event) => {
    if (!event.target.closest("input, textarea")) files.read(event.clipboardData.getData("text"));
  });
}
