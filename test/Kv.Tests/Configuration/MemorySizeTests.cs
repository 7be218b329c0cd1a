using Kv.Server.Configuration;

namespace Kv.Tests.Configuration;

public class MemorySizeTests
{
    [Theory]
    [InlineData("", 0)]
    [InlineData("0", 0)]
    [InlineData("005", 5)]
    [InlineData("5b", 5)]
    [InlineData("1k", 1_000)]
    [InlineData("1kb", 1_024)]
    [InlineData("1M", 1_000_000)]
    [InlineData("1mB", 1L << 20)]
    [InlineData("16g", 16_000_000_000)]
    [InlineData("16GB", 16L << 30)]
    [InlineData("18446744073709551615", ulong.MaxValue)]
    [InlineData("18446744073709551616", ulong.MaxValue)]
    [InlineData("99999999999999999999999999999999999999999999999999gb", ulong.MaxValue)]
    [InlineData("17179869184gb", ulong.MaxValue)]
    public void Reads_what_people_write(string text, ulong bytes)
    {
        Assert.True(MemorySize.TryParse(text, out ulong parsed));
        Assert.Equal(bytes, parsed);
    }

    [Theory]
    [InlineData("b")]
    [InlineData("kb")]
    [InlineData("-1")]
    [InlineData("+1")]
    [InlineData(" 1")]
    [InlineData("1 ")]
    [InlineData("1.5gb")]
    [InlineData("1t")]
    [InlineData("1kbb")]
    [InlineData("1kk")]
    [InlineData("50%")]
    [InlineData("0x10")]
    [InlineData("\u0661")]
    public void Refuses_what_is_no_size(string text) => Assert.False(MemorySize.TryParse(text, out _));

    [Theory]
    [InlineData(0, "0B")]
    [InlineData(1023, "1023B")]
    [InlineData(1024, "1.00K")]
    [InlineData(1572864, "1.50M")]
    [InlineData(ulong.MaxValue, "16.00E")]
    public void Writes_sizes_as_info_does(ulong bytes, string text) => Assert.Equal(text, MemorySize.ToText(bytes));
}
