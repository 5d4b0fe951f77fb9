package dev.redlock.transport;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.util.Version;
import java.io.IOException;
import java.io.InputStream;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The check against jars of Netty 4.1 is in the module samples. */
class NettyVersionTest {

    private static final String FIX = ": set the property netty.version to " + NettyVersion.RECOMMENDED
            + ", or import io.netty:netty-bom:" + NettyVersion.RECOMMENDED
            + " before spring-boot-dependencies and any other BOM that manages Netty";

    @ParameterizedTest
    @CsvSource({"4.2.18.Final,false", "4.2.2.Final,false", "4.2.1.Final,true", "4.2.0.RC1,true", "4.1.121.Final,true",
        "3.10.6.Final,true", "5.0.0.Alpha1,false", "4.10.0.Final,false", "4.2.2-SNAPSHOT,false", "4.2,false",
        "unspecified,false", "'',false", "99999999999.1,false"})
    void comparesNumbersAndPassesWhatIsNone(String version, boolean isTooOld) {
        assertEquals(isTooOld, NettyVersion.isTooOld(version));
    }

    @Test
    void theNettyOfTheBuildPassesAndIsTheOneToImport() {
        assertDoesNotThrow(() -> NettyVersion.check());
        assertEquals(Version.identify().get("netty-transport").artifactVersion(), NettyVersion.RECOMMENDED);
    }

    @Test
    void aMergedJarHasNoVersionOfNettyAndPasses() {
        assertDoesNotThrow(() -> NettyVersion.check(new MergedJar("Example", "1.0.0", Set.of())));
        assertDoesNotThrow(() -> NettyVersion.check(new MergedJar(null, null, Set.of())));
    }

    @Test
    void oneOldJarAmongNewOnesIsFound() {
        assertEquals("redlock needs Netty 4.2.2 or newer, found 4.1.121.Final (netty-buffer)" + FIX,
                assertThrows(IllegalStateException.class, () -> NettyVersion.check(
                        new MergedJar("The Netty Project", "4.1.121.Final", Set.of("io.netty.buffer")))).getMessage());
    }

    @Test
    void withoutAVersionTheNewestMethodDecides() {
        assertEquals("redlock needs Netty 4.2.2 or newer, found one without"
                + " io.netty.channel.ManualIoEventLoop.runNow(long)" + FIX,
                assertThrows(IllegalStateException.class,
                        () -> NettyVersion.check(ClassLoader.getPlatformClassLoader())).getMessage());
    }

    /** Loads the classes of Netty, with a manifest of its own for some packages, or for all. */
    private static final class MergedJar extends ClassLoader {
        private final String vendor;
        private final String version;
        private final Set<String> packages;

        MergedJar(String vendor, String version, Set<String> packages) {
            super(ClassLoader.getPlatformClassLoader());
            this.vendor = vendor;
            this.version = version;
            this.packages = packages;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            String owner = name.substring(0, name.lastIndexOf('.'));
            if (getDefinedPackage(owner) == null && (packages.isEmpty() || packages.contains(owner))) {
                definePackage(owner, null, null, null, "an application", version, vendor, null);
            }
            try (InputStream in = NettyVersionTest.class.getClassLoader()
                    .getResourceAsStream(name.replace('.', '/') + ".class")) {
                if (in == null) {
                    throw new ClassNotFoundException(name);
                }
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }
}
