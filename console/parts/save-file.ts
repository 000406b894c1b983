/** Hands a file to the browser's downloads. */
export function saveFile(blob: Blob, fileName: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  // The browser has taken the blob over when the click returns, in its next turn at the latest.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
