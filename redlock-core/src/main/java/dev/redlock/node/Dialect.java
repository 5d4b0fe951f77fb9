package dev.redlock.node;

import dev.redlock.resp.RespValue;
import java.util.List;

/**
 * Which conditional commands a node has, beside the scripts that all of them run.
 *
 * @threading immutable
 */
enum Dialect {
    /** Scripts alone. */
    SCRIPTS(CommandForm.SCRIPT, CommandForm.SCRIPT),
    /** Redis 8.4 and later. */
    REDIS_8_4(CommandForm.DELEX, CommandForm.SET_IFEQ),
    /** Valkey 8.1. */
    VALKEY_8_1(CommandForm.SCRIPT, CommandForm.SET_IFEQ),
    /** Valkey 9.0 and later. */
    VALKEY_9_0(CommandForm.DELIFEQ, CommandForm.SET_IFEQ);

    private static final int VALKEY_MAJOR = 8;
    private static final int VALKEY_MINOR = 1;

    private final CommandForm release;
    private final CommandForm extend;

    Dialect(final CommandForm release, final CommandForm extend) {
        this.release = release;
        this.extend = extend;
    }

    CommandForm releaseForm() {
        return release;
    }

    CommandForm extendForm() {
        return extend;
    }

    /**
     * What a node speaks. It is asked for the commands themselves, because versions lie: forks and proxies report the
     * one they are compatible with. Only SET with IFEQ has no name of its own; Valkey 8.1, which has nothing else, is
     * told by its version.
     *
     * @param commandInfo   the answer to {@code COMMAND INFO delex delifeq}; null if there was none
     * @param valkeyVersion {@code valkey_version} of INFO, or null
     */
    static Dialect of(final RespValue commandInfo, final String valkeyVersion) {
        if (commandInfo != null && commandInfo.type().isAggregate() && !commandInfo.isNull()) {
            final List<RespValue> found = commandInfo.elements();
            if (isKnown(found, 0)) {
                return REDIS_8_4;
            }
            if (isKnown(found, 1)) {
                return VALKEY_9_0;
            }
        }
        return isValkeyWithSetIfEqual(valkeyVersion) ? VALKEY_8_1 : SCRIPTS;
    }

    private static boolean isKnown(final List<RespValue> found, final int index) {
        return found.size() > index && found.get(index).type().isAggregate() && !found.get(index).isNull();
    }

    private static boolean isValkeyWithSetIfEqual(final String version) {
        if (version == null || !version.matches("[0-9]{1,4}\\.[0-9]{1,4}(\\..*)?")) {
            return false;
        }
        final String[] parts = version.split("\\.");
        final int major = Integer.parseInt(parts[0]);
        return major > VALKEY_MAJOR || major == VALKEY_MAJOR && Integer.parseInt(parts[1]) >= VALKEY_MINOR;
    }
}
