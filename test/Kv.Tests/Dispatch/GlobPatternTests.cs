using System.Text;
using Kv.Server.Patterns;
using Kv.Tests.Harness;

namespace Kv.Tests.Dispatch;

public class GlobPatternTests
{
    [Theory]
    [InlineData("*", "", true)]
    [InlineData("", "", true)]
    [InlineData("", "a", false)]
    [InlineData("?", "", false)]
    [InlineData("a*", "a", true)]
    [InlineData("h[^e]llo", "hello", false)]
    [InlineData("h[^e]llo", "hallo", true)]
    [InlineData("[z-a]", "m", true)]
    [InlineData("[a-]", "-", false)]
    [InlineData("[a-]", "^", true)]     // a range from a to ], in a class without an end
    [InlineData("[]a]", "a", false)]
    [InlineData("[*-\u00ff]", "b", false)]      // signed: from 0xff, which is -1, to the star
    [InlineData("[*-\u00ff]", "\u0001", true)]
    [InlineData("[\u0080-\u00ff]", "\u00c3", true)]
    [InlineData("[\u0080-\u00ff]", "a", false)]
    [InlineData("[\\]]", "]", true)]
    [InlineData("[a", "a", true)]
    [InlineData("[", "[", false)]
    [InlineData("[^", "x", true)]
    [InlineData("[^]", "x", true)]
    [InlineData("\\", "\\", true)]
    [InlineData("a\\", "a\\", true)]
    [InlineData("\\*", "*", true)]
    [InlineData("\\*", "x", false)]
    [InlineData("a*b*c", "a123b45c", true)]
    [InlineData("a*b*c", "a123b45", false)]
    [InlineData("*?*", "", false)]
    public void Means_what_it_means_to_the_reference(string pattern, string text, bool matches) =>
        Assert.Equal(matches, Matches(pattern, text));

    [Theory]
    [InlineData("SLAVE-*", "slave-read-only", true)]
    [InlineData("[A-C]x", "bX", true)]
    [InlineData("[\\A]", "a", false)]
    [InlineData("é", "É", false)]
    public void Can_ignore_the_case_of_ascii_letters(string pattern, string text, bool matches) =>
        Assert.Equal(matches, GlobPattern.IsMatch(Encoding.UTF8.GetBytes(pattern), Encoding.UTF8.GetBytes(text),
            ignoreCase: true));

    // CVE-2022-36021 and CVE-2024-31228. Counted in steps by shape: with recursion or backtracking over all stars these
    // would take longer than the age of the universe, or overflow the stack.
    [Fact]
    public void Known_S11_hostile_patterns_end()
    {
        string text = new('a', 1024);
        Assert.False(Matches(string.Concat(Enumerable.Repeat("a*", 500)) + "b", text));
        Assert.False(Matches(string.Concat(Enumerable.Repeat("*?", 50_000)), text));
        Assert.True(Matches(new string('*', 100_000), text));
        Assert.False(Matches(string.Concat(Enumerable.Repeat("*[", 50_000)), text));
        Assert.False(Matches("*" + new string('a', 1023) + "b", text));
    }

    // Each fails late at every place of the text, so that trying the places one by one compares some 500 bytes for
    // each.
    [Theory]
    [InlineData("*{500 a}b")]
    [InlineData("*b{500 a}")]
    [InlineData("*{250 a}b{250 a}*")]
    [InlineData("*{500 a}b*")]
    [InlineData("*?{500 a}b*")]
    [InlineData("*{500 ?}b*")]
    [InlineData("*{100 [a-b]}c*")]
    [InlineData("*{250 \\\\a}b*")]
    [InlineData("*{100 a*}b*")]
    [InlineData("*a{400 a*}{200 a}b*")]
    [InlineData("*[{1000 b}]*")]
    public void Known_S11_a_pattern_costs_no_more_than_some_words_for_each_byte_of_the_text(string shape)
    {
        string pattern = System.Text.RegularExpressions.Regex.Replace(shape, @"\{(\d+) ([^}]+)\}",
            match =>
                string.Concat(Enumerable.Repeat(match.Groups[2].Value.Replace(@"\\", @"\"),
                    int.Parse(match.Groups[1].Value))));
        Assert.InRange(pattern.Length, 1, GlobPattern.BytesMax);
        byte[] text = new byte[200_000];
        Array.Fill(text, (byte)'a');
        bool matches = GlobPattern.IsMatch(Encoding.ASCII.GetBytes(pattern), text, ignoreCase: false, out long cost);
        Assert.False(matches);
        Assert.InRange(cost, 0, text.Length * 20L);
    }

    // Pieces of about the length of a word of bits, texts that nearly match: both ways of searching.
    [Fact]
    public void Agrees_with_a_backtracking_matcher_on_long_patterns()
    {
        var random = Seed.NewRandom();
        for (int round = 0; round < TimeBudget.Count(20_000); round++)
        {
            int[] lengths = [random.Next(1, 8), 63, 64, 65, 127, 128, 129, random.Next(1, 300)];
            var pattern = new StringBuilder();
            for (int pieces = random.Next(1, 4); pieces > 0; pieces--)
            {
                if (random.Next(4) != 0) pattern.Append('*');
                string rare = random.Next(2) == 0 ? "b" : "a";
                for (int left = lengths[random.Next(lengths.Length)]; left > 0; left--)
                    pattern.Append(random.Next(40) != 0
                        ? "a" : (string)(
                        random.Next(5) switch { 0 => "?", 1 => "[ab]", 2 => "[^b]", 3 => "\\a", _ => rare }));
            }

            if (random.Next(3) != 0) pattern.Append('*');
            var text = new StringBuilder();
            for (int left = random.Next(600); left > 0; left--)
                text.Append(random.Next(60) == 0 ? 'b' : random.Next(200) == 0 ? 'B' : 'a');
            foreach (bool ignoreCase in (bool[])[false, true])
            {
                bool expected = Backtracking(Encoding.ASCII.GetBytes(pattern.ToString()),
                    Encoding.ASCII.GetBytes(text.ToString()), ignoreCase);
                if (Matches(pattern.ToString(), text.ToString(), ignoreCase) != expected)
                    Assert.Fail(
                        $"{Seed.Hint}: '{pattern}' on '{text}' should be {expected}, ignoring case: {ignoreCase}");
            }
        }
    }

    /// <summary>Gives the last star one byte more whenever a comparison fails.</summary>
    private static bool Backtracking(byte[] pattern, byte[] text, bool ignoreCase)
    {
        int p = 0, t = 0, afterStar = -1, starText = 0;
        while (true)
        {
            if (p < pattern.Length && pattern[p] == '*')
            {
                while (p < pattern.Length && pattern[p] == '*') p++;
                (afterStar, starText) = (p, t);
                if (p == pattern.Length) return true;
            }

            if (t == text.Length) return p == pattern.Length;
            if (p < pattern.Length && GlobPattern.MatchesOne(pattern, ref p, text[t], ignoreCase))
            {
                t++;
                continue;
            }

            if (afterStar < 0) return false;
            p = afterStar;
            t = ++starText;
        }
    }

    [Fact]
    public void Agrees_with_an_obvious_matcher_on_random_patterns()
    {
        var random = Seed.NewRandom();
        for (int round = 0; round < 200_000; round++)
        {
            string pattern = RandomText(random, "ab*?[]^-\\", 9), text = RandomText(random, "ab]^-[\\", 6);
            bool ignoreCase = random.Next(2) == 0;
            bool expected = Slow(pattern, text);
            if (Matches(pattern, text) != expected)
                Assert.Fail($"{Seed.Hint}: '{pattern}' on '{text}' should be {expected}");
            if (ignoreCase && Matches(pattern, text, true) != expected)
                Assert.Fail($"{Seed.Hint}: '{pattern}' on '{text}', any case");
        }
    }

    internal static string RandomText(Random random, string alphabet, int lengthMax) =>
        new([.. Enumerable.Range(0, random.Next(lengthMax + 1)).Select(_ => alphabet[random.Next(alphabet.Length)])]);

    private static bool Matches(string pattern, string text, bool ignoreCase = false) =>
        GlobPattern.IsMatch(Encoding.Latin1.GetBytes(pattern), Encoding.Latin1.GetBytes(text), ignoreCase);

    /// <summary>Tries every way, one element of the pattern at a time.</summary>
    private static bool Slow(string pattern, string text)
    {
        if (pattern.Length == 0) return text.Length == 0;
        if (pattern[0] == '*') return Slow(pattern[1..], text) || (text.Length > 0 && Slow(pattern, text[1..]));
        if (text.Length == 0) return false;
        if (pattern[0] == '?') return Slow(pattern[1..], text[1..]);
        if (pattern[0] == '[') return SlowClass(pattern[1..], text);
        if (pattern[0] == '\\' && pattern.Length > 1) pattern = pattern[1..];
        return pattern[0] == text[0] && Slow(pattern[1..], text[1..]);
    }

    private static bool SlowClass(string rest, string text)
    {
        bool negated = rest.StartsWith('^');
        if (negated) rest = rest[1..];
        var members = new HashSet<char>();
        while (rest.Length > 0 && rest[0] != ']')
        {
            int taken = 1;
            if (rest[0] == '\\' && rest.Length >= 2) (taken, _) = (2, members.Add(rest[1]));
            else if (rest.Length >= 3 && rest[1] == '-')
            {
                taken = 3;
                for (int c = Math.Min(rest[0], rest[2]); c <= Math.Max(rest[0], rest[2]); c++) members.Add((char)c);
            }
            else members.Add(rest[0]);

            rest = rest[taken..];
        }

        return members.Contains(text[0]) != negated && Slow(rest.Length > 0 ? rest[1..] : "", text[1..]);
    }
}
