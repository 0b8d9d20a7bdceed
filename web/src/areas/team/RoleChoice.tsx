import { grantable, MAY, type Role, ROLES } from "./roles";
import styles from "./Team.module.css";

/** Which role to give: those up to one's own, each with what it allows. Sent as the field `role`. */
export function RoleChoice({ own, chosen = "viewer", disabled }: { own: string | undefined; chosen?: Role; disabled?: boolean }) {
  const offered = grantable(own);
  return (
    <fieldset className={styles["roles"]} disabled={disabled}>
      <legend>Role</legend>
      {offered.map((role) => (
        <label key={role} className={styles["role"]}>
          <input type="radio" name="role" value={role} defaultChecked={role === chosen} required />
          <span>
            <b>{role}</b>
            <small>{MAY[role]}</small>
          </span>
        </label>
      ))}
      {offered.length < ROLES.length && offered.length > 0 && <p className="muted">You can give roles up to your own.</p>}
    </fieldset>
  );
}
