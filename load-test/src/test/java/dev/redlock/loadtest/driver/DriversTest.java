package dev.redlock.loadtest.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DriversTest {
    @Test
    void namesAreUnique() {
        assertEquals(Drivers.NAMES.size(), new HashSet<>(Drivers.NAMES).size(), Drivers.NAMES::toString);
        assertTrue(Drivers.NAMES.containsAll(List.of("redlock", "redlock-blocking", "redlock-stage", "lettuce",
                "lettuce-batched", "redisson", "redisson-single", "jedis", "set-nx")), Drivers.NAMES::toString);
    }

    @Test
    void driversThatRepeatOthersCommandsOrNeedOtherServersAreComparedOnlyByName() {
        List<String> left = new ArrayList<>(Drivers.NAMES);
        left.removeAll(Drivers.COMPARED);
        assertEquals(
                List.of("redlock-watched", "redlock-retained", "redlock-scripts-each", "redlock-thrifty",
                        "redlock-each", "lettuce-scripts", "redisson-wait", "redisson-fenced", "etcd", "zookeeper"),
                left);
    }

    @ParameterizedTest
    @ValueSource(strings = {"redlock@nio", "redlock-stage@io-uring", "redlock-blocking", "redlock-scripts@epoll",
        "redlock-scripts-each@nio"})
    void redlockNamesMayIncludeATransport(String name) {
        assertEquals(name, Drivers.named(name).name());
    }

    @Test
    void automaticTransportNeedsNoName() {
        assertEquals("redlock", Drivers.named("redlock@auto").name());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"redis|'redis': expected one of redlock, ",
        "lettuce@nio|'lettuce@nio': lettuce has no choice of transport; leave @nio out",
        "redlock@tcp|'redlock@tcp': expected one of the transports auto, io-uring, epoll, kqueue, nio"})
    void wrongNamesReportTheValidOnes(String name, String message) {
        String said = assertThrows(IllegalArgumentException.class, () -> Drivers.named(name)).getMessage();
        assertTrue(said.startsWith(message), said);
    }
}
