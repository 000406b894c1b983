export const inviteHref = '/admin/invitations?dialog=invite'
