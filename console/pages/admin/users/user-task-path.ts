/** Path of the admin's page of a user's task. */
export function userTaskPath(userId: string, taskId: string): string {
  return `/admin/users/${encodeURIComponent(userId)}/tasks/${encodeURIComponent(taskId)}`
}
