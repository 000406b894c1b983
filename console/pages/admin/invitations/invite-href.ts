/** The invitations with the dialog of a new one. */
export const inviteHref = '/admin/invitations?dialog=invite'
