// dialog.js: opening and closing a dialog over the page.

// Shows it; resolves once it is closed, which it is too when `signal`, where there is one, says that its view goes.
export function shown(dialog, signal) {
  return new Promise((resolve) => {
    const leave = () => dialog.close();
    dialog.addEventListener("close", () => {
      signal?.removeEventListener("abort", leave);
      dialog.remove();
      resolve();
    });
    signal?.addEventListener("abort", leave);
    document.body.append(dialog);
    dialog.showModal();
  });
}
