using System.Globalization;

namespace RespBenchmark;

internal static class Program
{
    private static int Main(string[] arguments)
    {
        CultureInfo.DefaultThreadCurrentCulture = CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
        return CommandLine.Entry.Run(arguments, Console.Out, Console.Error);
    }
}
