package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;

/** The POMs hold what a published module needs, and the pages name the version that they publish. */
class PublishingTest {

    /** The folders of the modules of a POM, and of those below it. */
    private static List<String> modules(String folder) throws Exception {
        List<String> found = new ArrayList<>();
        Element modules = child(root(folder + "/pom.xml"), "modules");
        for (Node node = modules == null ? null : modules.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node instanceof Element module) {
                String path = folder.equals(".") ? module.getTextContent() : folder + "/" + module.getTextContent();
                found.add(path);
                found.addAll(modules(path));
            }
        }
        return found;
    }

    /** The folders of the published modules with a jar. */
    private static List<String> jars() throws Exception {
        List<String> found = new ArrayList<>();
        for (String module : modules(".")) {
            if (!module.equals("bom") && !module.startsWith("samples") && skip(module, "deploy").isEmpty()) {
                found.add(module);
            }
        }
        return found;
    }

    private static List<String> integrations() throws Exception {
        return jars().stream().filter(module -> !List.of("resp-codec", "redlock-core").contains(module)).toList();
    }

    @Test
    void everyModuleHasTheVersionOfTheRoot() throws Exception {
        String version = version();
        for (String module : modules(".")) {
            if (!module.equals("bom") && !module.startsWith("samples")) {
                assertEquals(version, text(child(root(module + "/pom.xml"), "parent"), "version"), module);
            }
        }
        assertEquals(version, text(root("bom/pom.xml"), "version"), "bom");
    }

    @Test
    void theBomHasNoParentAndTheSameValuesAsTheRoot() throws Exception {
        Element bom = root("bom/pom.xml");
        assertEquals(null, child(bom, "parent"), "an importer of the BOM would get what its parent manages");
        Element own = child(bom, "properties");
        Element shared = child(root("pom.xml"), "properties");
        NodeList children = own.getChildNodes();
        int compared = 0;
        for (int i = 0; i < children.getLength(); i++) {
            if (children.item(i) instanceof Element property) {
                assertEquals(text(shared, property.getTagName()), property.getTextContent(), property.getTagName());
                compared++;
            }
        }
        assertTrue(compared >= 3, "compared " + compared);
    }

    @Test
    void theBomHasExactlyThePublishedModules() throws Exception {
        Set<String> published = new TreeSet<>();
        for (String module : jars()) {
            published.add(text(root(module + "/pom.xml"), "artifactId"));
        }
        assertTrue(published.size() > 6, published::toString);
        Set<String> managed = new TreeSet<>();
        NodeList entries = child(root("bom/pom.xml"), "dependencyManagement").getElementsByTagName("dependency");
        for (int i = 0; i < entries.getLength(); i++) {
            if (text((Element) entries.item(i), "groupId").equals("dev.redlock")) {
                managed.add(text((Element) entries.item(i), "artifactId"));
            }
        }
        assertEquals(published, managed);
        assertTrue(published.stream().allMatch(name -> name.startsWith("redlock-")), published::toString);
    }

    @Test
    void theBuildComparesEachPublishedJarWithTheFirstRelease() throws Exception {
        assertEquals("0.1.0", text(child(root("pom.xml"), "properties"), "api.baseline"));
        for (String module : jars()) {
            assertTrue(DocPages.text(module + "/pom.xml").contains("<artifactId>japicmp-maven-plugin</artifactId>"),
                    module);
        }
    }

    /** The upload takes everything that the build makes, deployed or not. */
    @Test
    void theUploadLeavesOutWhatIsNotPublished() throws Exception {
        Set<String> others = new TreeSet<>();
        for (String module : modules(".")) {
            if (!module.equals("bom") && !jars().contains(module)) {
                others.add(text(root(module + "/pom.xml"), "artifactId"));
            }
        }
        NodeList excluded = root("pom.xml").getElementsByTagName("excludeArtifact");
        Set<String> left = new TreeSet<>();
        for (int i = 0; i < excluded.getLength(); i++) {
            left.add(excluded.item(i).getTextContent());
        }
        assertEquals(others, left);
    }

    @Test
    void theSamplesAreBuiltWithTheVersionsOfTheRoot() throws Exception {
        Element shared = child(root("pom.xml"), "properties");
        int compared = 0;
        for (String pom : List.of("samples/pom.xml", "samples/kotlin/pom.xml")) {
            NodeList children = child(root(pom), "properties").getChildNodes();
            for (int i = 0; i < children.getLength(); i++) {
                if (children.item(i) instanceof Element property && child(shared, property.getTagName()) != null) {
                    assertEquals(text(shared, property.getTagName()), property.getTextContent(), property.getTagName());
                    compared++;
                }
            }
        }
        assertTrue(compared >= 10, "compared " + compared);
    }

    @Test
    void snippetsNameTheNettyThatIsBuilt() throws Exception {
        String netty = text(child(root("pom.xml"), "properties"), "netty.version");
        int count = 0;
        for (Path page : DocPages.all()) {
            for (DocBlock block : DocBlock.in(page)) {
                if (block.language().matches("xml|kotlin") && block.text().contains("netty")) {
                    count++;
                    assertTrue(block.text().contains(netty), block::place);
                }
            }
        }
        assertTrue(count >= 4, "blocks with Netty: " + count);
    }

    @ParameterizedTest
    @ValueSource(strings = {"pom.xml", "bom/pom.xml"})
    void pomsHaveTheFieldsThatRegistriesRequire(String pom) throws Exception {
        Element project = root(pom);
        for (String name : List.of("name", "description", "url", "licenses", "developers", "scm")) {
            assertFalse(text(project, name).isBlank(), name + " of " + pom);
        }
        assertEquals("the redlock authors", child(child(project, "developers"), "developer")
                .getElementsByTagName("name")
                .item(0)
                .getTextContent());
    }

    @Test
    void onlyTheLibraryIsInstalledAndDeployed() throws Exception {
        for (String module : jars()) {
            assertEquals("", skip(module, "install"), module);
        }
        for (String module : List.of("cli", "trial-nodes", "load-test", "jmh", "samples")) {
            assertEquals("truetrue", skip(module, "install") + skip(module, "deploy"), module);
        }
    }

    @Test
    void snippetsNameTheVersionThatIsBuilt() throws Exception {
        String version = version();
        List<String> wrong = new ArrayList<>();
        int count = 0;
        for (Path page : DocPages.withModules()) {
            for (DocBlock block : DocBlock.in(page)) {
                String text = String.join("\n", block.lines());
                if (block.language().equals("xml")) {
                    parse("<snippet>" + text + "</snippet>");
                }
                if (block.language().matches("xml|kotlin")
                        && text.matches("(?s).*(>dev\\.redlock<|dev\\.redlock:).*")) {
                    count++;
                    if (!text.contains("<version>" + version + "</version>") && !text.contains(":" + version + "\"")) {
                        wrong.add(block.place());
                    }
                }
            }
        }
        assertEquals(List.of(), wrong, "snippets without version " + version);
        assertTrue(count >= 2, "README.md shows Maven and Gradle");
    }

    @ParameterizedTest
    @ValueSource(strings = {"resp-codec/pom.xml", "redlock-core/pom.xml"})
    void publishedModulesDependOnNettyOnly(String pom) throws Exception {
        NodeList declared = child(root(pom), "dependencies").getElementsByTagName("dependency");
        int count = 0;
        for (int i = 0; i < declared.getLength(); i++) {
            Element dependency = (Element) declared.item(i);
            if (!text(dependency, "scope").equals("test")) {
                count++;
                assertTrue(text(dependency, "groupId").matches("io\\.netty|dev\\.redlock"),
                        text(dependency, "artifactId") + " in " + pom);
            }
        }
        assertTrue(count >= 3, "dependencies: " + count);
    }

    @ParameterizedTest
    @MethodSource("integrations")
    void integrationsDependOnTheLibraryOnly(String module) throws Exception {
        NodeList declared = child(root(module + "/pom.xml"), "dependencies").getElementsByTagName("dependency");
        List<String> compiled = new ArrayList<>();
        for (int i = 0; i < declared.getLength(); i++) {
            Element dependency = (Element) declared.item(i);
            if (text(dependency, "scope").isEmpty() && text(dependency, "optional").isEmpty()) {
                compiled.add(text(dependency, "artifactId"));
            }
        }
        List<String> expected = switch (module) {
            // The library is in its jar.
            case "shaded" -> List.of();
            case "integrations/spring-boot-starter" -> List.of("redlock-core", "redlock-micrometer");
            default -> List.of("redlock-core");
        };
        assertEquals(expected, compiled);
    }

    /** The SBOM is made when the modules are packaged, but not in an offline build. */
    @ParameterizedTest
    @ValueSource(strings = {"resp-codec", "redlock-core"})
    void sbomListsTheJarsWhoseChecksumsTheBuildVerifies(String module) throws Exception {
        String artifact = text(root(module + "/pom.xml"), "artifactId");
        Path sbom = DocPages.root().resolve(module + "/target/" + artifact + "-" + version() + "-sbom.json");
        Assumptions.assumeTrue(Files.exists(sbom), "the module is not packaged");
        Map<String, String> verified = new TreeMap<>();
        NodeList rules = root("config/checksums/rules.xml").getElementsByTagName("requireFileChecksum");
        for (int i = 0; i < rules.getLength(); i++) {
            String file = text((Element) rules.item(i), "file");
            verified.put(file.substring(file.lastIndexOf('/') + 1), text((Element) rules.item(i), "checksum"));
        }
        Map<String, String> listed = new TreeMap<>();
        for (JsonNode component : new ObjectMapper().readTree(sbom.toFile()).get("components")) {
            if (!component.get("group").asText().equals("dev.redlock")) {
                listed.put(fileName(component), sha256(component));
            }
        }
        if (module.equals("resp-codec")) {
            assertTrue(listed.size() >= 3, listed::toString);
            assertTrue(verified.entrySet().containsAll(listed.entrySet()), () -> listed + " in " + verified);
        } else {
            assertEquals(verified, listed);
        }
    }

    /** Of another module, so both are packaged before. */
    @ParameterizedTest
    @MethodSource("jars")
    void jarsHaveTheLicenceAndTheNotice(String module) throws Exception {
        String resources = child(child(root("pom.xml"), "build"), "resources").getTextContent();
        for (String name : List.of("LICENSE", "NOTICE")) {
            byte[] text = Files.readAllBytes(DocPages.root().resolve(name));
            assertTrue(resources.contains(name), name);
            for (String end : List.of(".jar", "-sources.jar", "-javadoc.jar")) {
                String artifact = text(root(module + "/pom.xml"), "artifactId");
                Path jar = DocPages.root().resolve(module + "/target/" + artifact + "-" + version() + end);
                assertArrayEquals(text, Files.exists(jar) ? entry(jar, "META-INF/" + name) : text, jar::toString);
            }
        }
    }

    private static byte[] entry(Path jar, String name) throws IOException {
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            ZipEntry entry = zip.getEntry(name);
            return entry == null ? new byte[0] : zip.getInputStream(entry).readAllBytes();
        }
    }

    private static String fileName(JsonNode component) {
        String purl = component.get("purl").asText();
        String classifier = purl.contains("classifier=") ? "-" + purl.replaceAll(".*classifier=([^&]*).*", "$1") : "";
        return component.get("name").asText() + "-" + component.get("version").asText() + classifier + ".jar";
    }

    private static String sha256(JsonNode component) {
        for (JsonNode hash : component.get("hashes")) {
            if (hash.get("alg").asText().equals("SHA-256")) {
                return hash.get("content").asText();
            }
        }
        return "";
    }

    private static String skip(String module, String goal) throws Exception {
        Element properties = child(root(module + "/pom.xml"), "properties");
        return properties == null ? "" : text(properties, "maven." + goal + ".skip");
    }

    private static String version() throws Exception {
        return text(root("pom.xml"), "version");
    }

    private static Element root(String pom) throws Exception {
        return parse(Files.readString(DocPages.root().resolve(pom))).getDocumentElement();
    }

    private static Document parse(String xml) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        try {
            return factory.newDocumentBuilder()
                    .parse(new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)));
        } catch (IOException | org.xml.sax.SAXException e) {
            throw new AssertionError("this is no XML: " + xml, e);
        }
    }

    /** The first child element with a name, or null. */
    private static Element child(Element parent, String name) {
        for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node instanceof Element element && element.getTagName().equals(name)) {
                return element;
            }
        }
        return null;
    }

    private static String text(Element parent, String name) {
        Element element = child(parent, name);
        return element == null ? "" : element.getTextContent();
    }
}
