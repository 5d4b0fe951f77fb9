package dev.redlock.loadtest.lock;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.TransportKind;
import java.time.Duration;

/** A user's whole program: takes a lock on the nodes it is given, over the transport it is given, and ends. */
final class PlainUser {

    private PlainUser() {
    }

    public static void main(String[] args) throws InterruptedException {
        RedlockContext context = new RedlockContext().nodes(args[0])
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(10))
                .transport(TransportKind.valueOf(args[1]));
        try (Redlock redlock = Redlock.connect(context);
                Lease lease = redlock.acquire("plain", Duration.ofSeconds(30)).lease()) {
            System.out.println("held " + lease.isHeld() + " over " + redlock.transportDescription());
        }
    }
}
