export function saveFile(blob: Blob, fileName: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  // The browser takes over the blob by the time the click returns, or in the next tick at the latest.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
