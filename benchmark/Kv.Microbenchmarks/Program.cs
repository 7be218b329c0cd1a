using System.Globalization;
using BenchmarkDotNet.Running;
using Kv.Microbenchmarks;

// What BenchmarkDotNet cannot measure (threads, memory, single slow calls) are commands of their own; README.md says
// how to read each.
long argument = args.Length > 1 && long.TryParse(args[1], CultureInfo.InvariantCulture, out long number) ? number : 0;
switch (args.FirstOrDefault())
{
    case "hotkey":
        HotKey.Run(argument == 0 ? 3 : (int)argument);
        break;
    case "growth":
        Growth.Run(argument == 0 ? 30_000_000 : argument);
        break;
    case "memory":
        Memory.Run(argument == 0 ? 11_000_000 : argument);
        break;
    case "lua":
        LuaCells.Run(args.Length > 1 ? args[1] : "");
        break;
    default:
        BenchmarkSwitcher.FromAssembly(typeof(Program).Assembly).Run(args);
        break;
}
