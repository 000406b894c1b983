export function userTaskPath(userId: string, taskId: string): string {
  return `/admin/users/${encodeURIComponent(userId)}/tasks/${encodeURIComponent(taskId)}`
}
