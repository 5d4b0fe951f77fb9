package dev.redlock.loadtest.driver;

import java.util.Locale;

/**
 * The forms of the API of {@code redlock-core}.
 *
 * @threading immutable
 */
public enum ApiForm {
    /** Reused objects and a callback: allocates nothing. */
    CALLBACK("callback form with reused objects"),
    /** A thread waits for each lock. */
    BLOCKING("blocking form, a thread for each cycle in flight"),
    /** A future for each call. */
    STAGE("completion stages"),
    /** {@link #CALLBACK} with leases that watch their keys. */
    WATCHED("callback form, with watchLoss");

    private final String summary;

    ApiForm(String summary) {
        this.summary = summary;
    }

    String summary() {
        return summary;
    }

    String driverName() {
        return this == CALLBACK ? "redlock" : "redlock-" + name().toLowerCase(Locale.ROOT);
    }
}
